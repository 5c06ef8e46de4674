#pragma once
// Products with diagonal matrices from either side.

#include "kernels/geometry/entries.hpp"

namespace minigift::geometry {

/// w (m, d): column j times gains(j).
template <class S>
void scale_columns(const Matrix<S>& w, const Vector<const S>& gains) {
  for_each_entry(
      "minigift::scale_columns", extent(w, 0), extent(w, 1),
      KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) { w(i, j) *= gains(j); });
}

/// w (d, n): row i times gains(i).
template <class S>
void scale_rows(const Matrix<S>& w, const Vector<const S>& gains) {
  for_each_entry(
      "minigift::scale_rows", extent(w, 0), extent(w, 1),
      KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) { w(i, j) *= gains(i); });
}

}  // namespace minigift::geometry
