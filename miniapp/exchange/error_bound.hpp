#pragma once
// How large the relative L2 error of an exchanged gradient may be before something is wrong.

#include "miniapp/exchange/method.hpp"

namespace minigift {

/// Let u be the largest relative error of one rounding (2^-p for p significant bits; sqrt(b) / 254 for INT8
/// with a scale per b elements, where all energy of a block may sit in one element). Over N ranks whose
/// gradients do not cancel,
/// ||sum x_r||^2 >= sum ||x_r||^2, and with roundings that do not conspire, errors add in energy:
///
///   native        u sqrt(1 + N/2)   N casts of x_r, then N-1 hops, the k-th of energy (k+1)/N of the sum
///   all-to-all    u sqrt(2)         N casts, and one of the sum
///   hierarchical  u sqrt(3)         N casts, one of each node's sum, one of the sum of these
///
/// twice that with error feedback, which adds the last step's rounding to this step's signal. Coordinates
/// only lower it. Typical roundings are 0.42 u, so a correct exchange stays well below, while a wrong scale,
/// a lost rank or a wrong division does not: those give errors of the order of one.
double exchange_error_bound(const Method& method, int ranks);

}  // namespace minigift
