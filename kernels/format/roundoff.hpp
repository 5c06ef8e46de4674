#pragma once
// How coarse a format is: what error bounds are made of.

#include "kernels/format/format.hpp"

namespace minigift {

/// Half a unit in the last place, relative: 2^-24, 2^-8, 2^-4, 2^-3; 0 for int8, whose steps do not grow with
/// the value.
double unit_roundoff(Format format);
/// Smallest step between codes: the smallest subnormal number, 1 for int8.
double smallest_step(Format format);

}  // namespace minigift
