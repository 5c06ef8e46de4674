#include "kernels/format/boundary_counts.hpp"

#include "kernels/bit_cast.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/format/fp8.hpp"
#include "kernels/format/tiles.hpp"
#include "kernels/scalar_lanes.hpp"

#include <cmath>

namespace minigift {
namespace {

/// Bit patterns of the smallest float that becomes each of these codes, or a larger one.
struct Thresholds {
  std::uint32_t smallest_subnormal, second_subnormal, smallest_normal, largest;
};

/// By bisection, so that the rule is the codec's own: rounding and clamping never decrease with the
/// magnitude.
template <class Element>
std::uint32_t first_bits_of(std::uint32_t code) {
  std::uint32_t below = 0,
                reached = Element::max_finite_bits;  // zero is below every code, the largest is none
  while (reached - below > 1) {
    const std::uint32_t middle = below + (reached - below) / 2;
    (Element::encode(bit_cast<float>(middle)) >= code ? reached : below) = middle;
  }
  return reached;
}

template <class Element>
Thresholds thresholds_of() {
  return {first_bits_of<Element>(1), first_bits_of<Element>(2),
          first_bits_of<Element>(Element::min_normal_code),
          first_bits_of<Element>(Element::encode(bit_cast<float>(Element::max_finite_bits)))};
}

/// The order of the sums in the reduction.
enum Field : unsigned { upper, flushed, subnormal, lower, non_finite, field_count };

constexpr std::uint32_t infinity_bits = 0x7F800000u;

/// What one element adds to each sum.
struct Hits {
  std::uint32_t upper, flushed, subnormal, lower, non_finite;
};
KOKKOS_FORCEINLINE_FUNCTION Hits hits_of(float value, float inverse, const Thresholds& first) {
  const std::uint32_t of_value = bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu;
  // Scaling may overflow, which is beyond the largest code all the same, or make a denormal, which is
  // flushed.
  const std::uint32_t scaled = bit_cast<std::uint32_t>(value * inverse) & 0x7FFFFFFFu;
  // Without branches, as numbers: the loop over them shall vectorise.
  const std::uint32_t finite = of_value < infinity_bits ? 1u : 0u;
  const std::uint32_t present = of_value != 0 ? finite : 0u;
  const std::uint32_t at_least_one = scaled >= first.smallest_subnormal ? 1u : 0u;
  const std::uint32_t at_least_two = scaled >= first.second_subnormal ? 1u : 0u;
  const std::uint32_t normal = scaled >= first.smallest_normal ? 1u : 0u;
  return {scaled >= first.largest ? finite : 0u, present & (at_least_one ^ 1u),
          present & at_least_one & (normal ^ 1u), present & (at_least_two ^ 1u), finite ^ 1u};
}

/// Elements of one iteration.
constexpr std::int64_t width = scalar_lanes ? 1 : max_tile_elements;

/// On a host an iteration is a piece of the elements, whose loop vectorises; on a GPU it is one element.
struct CountBoundaries {
  using value_type = long long[];
  using size_type = std::size_t;
  size_type value_count = field_count;

  Vector<const float> x;
  float inverse;
  Thresholds first;

  KOKKOS_FUNCTION void operator()(const std::int64_t piece, value_type sums) const {
    if constexpr (scalar_lanes) {
      add(sums, hits_of(x(piece), inverse, first));
    } else {
      const std::int64_t begin = piece * width, left = static_cast<std::int64_t>(x.extent(0)) - begin;
      const auto count = static_cast<int>(left < width ? left : width);
      const float* const from = x.data() + begin;
      const float by = inverse;
      const Thresholds bounds = first;
      std::uint32_t at_top = 0, gone = 0, small = 0, at_bottom = 0, bad = 0;
#pragma omp simd reduction(+ : at_top, gone, small, at_bottom, bad)
      for (int i = 0; i < count; ++i) {
        const Hits hits = hits_of(from[i], by, bounds);
        at_top += hits.upper;
        gone += hits.flushed;
        small += hits.subnormal;
        at_bottom += hits.lower;
        bad += hits.non_finite;
      }
      add(sums, {at_top, gone, small, at_bottom, bad});
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void add(value_type sums, const Hits& hits) {
    sums[upper] += hits.upper;
    sums[flushed] += hits.flushed;
    sums[subnormal] += hits.subnormal;
    sums[lower] += hits.lower;
    sums[non_finite] += hits.non_finite;
  }
};

}  // namespace

BoundaryCounts& BoundaryCounts::operator+=(const BoundaryCounts& other) {
  elements += other.elements;
  upper += other.upper;
  flushed += other.flushed;
  subnormal += other.subnormal;
  lower += other.lower;
  non_finite += other.non_finite;
  return *this;
}

BoundaryCounts boundary_counts(Format format, const Vector<const float>& x, float scale) {
  require(is_fp8(format), "boundary counts: e4m3 and e5m2 have boundaries, {} was asked for", name(format));
  require(std::isfinite(scale) && scale > 0,
          "boundary counts: the scale is {}, it must be finite and positive", scale);
  BoundaryCounts counts;
  counts.elements = size(x);
  if (counts.elements == 0) return counts;
  CountBoundaries kernel;
  kernel.x = x;
  kernel.inverse = 1.0f / scale;
  kernel.first = format == Format::e4m3 ? thresholds_of<E4M3>() : thresholds_of<E5M2>();
  const HostVector<long long> sums("minigift::boundary_counts", field_count);
  Kokkos::parallel_reduce("minigift::boundary_counts", range((counts.elements + width - 1) / width), kernel,
                          sums);
  current_space().fence();
  counts.upper = sums(upper);
  counts.flushed = sums(flushed);
  counts.subnormal = sums(subnormal);
  counts.lower = sums(lower);
  counts.non_finite = sums(non_finite);
  return counts;
}

}  // namespace minigift
