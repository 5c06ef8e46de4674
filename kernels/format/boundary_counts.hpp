#pragma once
// How many elements of a gradient meet the ends of an 8-bit float's range: the raw numbers of GIFT's layer
// profile (arXiv:2607.07494, section V-C), which leaves "upper and lower boundary" open, so that each reading
// is counted on its own.

#include "kernels/format/format.hpp"
#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// Numbers of elements. q is the code of x / scale, nearest even and saturating. Non-finite elements are in
/// `elements` and `non_finite` only.
struct BoundaryCounts {
  std::int64_t elements = 0;
  std::int64_t upper = 0;       ///< |q| = largest finite value (448 or 57344)
  std::int64_t flushed = 0;     ///< x != 0, q = 0
  std::int64_t subnormal = 0;   ///< 0 < |q| < smallest normal (2^-6 or 2^-14)
  std::int64_t lower = 0;       ///< x != 0, |q| <= smallest subnormal (2^-9 or 2^-16); contains `flushed`
  std::int64_t non_finite = 0;  ///< x infinite or NaN

  BoundaryCounts& operator+=(const BoundaryCounts& other);
};

/// Counts over x as quantize would encode it with this scale, x * (1 / scale). One pass, 4 bytes read per
/// element, no codes stored: rounding is monotonous, so that each count is a comparison of the magnitude with
/// the first float of a code. The host waits for the result. Throws RuntimeError unless the format is e4m3 or
/// e5m2 and the scale finite and positive.
BoundaryCounts boundary_counts(Format format, const Vector<const float>& x, float scale);

}  // namespace minigift
