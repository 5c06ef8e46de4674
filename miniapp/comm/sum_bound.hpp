#pragma once
// How far a sum of codes may be from the exact sum: a bound for every single element, from the roundings that
// a collective makes. Derived in README.md.

#include "kernels/format/format.hpp"
#include "miniapp/deck/comm_deck.hpp"

namespace minigift {

/// |result - sum_r x_r| <= relative * sum_r |x_r| + absolute, for each element.
struct SumBound {
  double relative = 0;  ///< (1 + u)^R - 1 of R roundings behind each other
  double absolute = 0;  ///< of those that met values below the format's normal numbers
};

/// The scales by which a sum was made, the largest over groups (and ranks): of what the ranks sent, and of
/// what the sum was encoded with where it was encoded anew. 1 for fp32 and bf16.
struct SumScales {
  double sent = 1;
  double result = 1;
};

/// For a collective that adds.
SumBound sum_bound(CollectiveChoice collective, Format format, int ranks, const SumScales& scales);

/// Where all ranks cast with one scale and codes are added one after the other (or in pairs), no sum
/// saturates if the largest magnitude is mapped to max_finite / headroom: (2N-1)(1+u); 1 for one rank.
double shared_headroom(Format format, int ranks);

}  // namespace minigift
