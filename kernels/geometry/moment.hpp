#pragma once
// What every whitening from a dense second moment does with it first.

#include "kernels/view.hpp"

#include <cstdint>

namespace minigift::geometry {

using HostMoment = Kokkos::View<const double**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Returns the trace of a second moment (d, d). Throws RuntimeError unless it is square, finite, and
/// symmetric to 1e-6 of its largest element.
double check_moment(const HostMoment& a);

/// The symmetric part of the diagonal block of `width` indices from `first` on, in the memory of the
/// execution space.
Matrix<double> diagonal_block(const HostMoment& a, std::int64_t first, std::int64_t width);

}  // namespace minigift::geometry
