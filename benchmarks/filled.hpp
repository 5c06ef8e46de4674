#pragma once
// Matrices of standard normal numbers to measure on.

#include "kernels/format/philox.hpp"
#include "kernels/slice.hpp"
#include "kernels/view.hpp"

namespace minigift {

inline Matrix<float> filled(std::int64_t rows, std::int64_t columns) {
  const Matrix<float> matrix("matrix", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  const Vector<float> values = flatten(matrix);
  const PhiloxKey key = philox_key(1, 0, 0, 0);
  Kokkos::parallel_for(
      "minigift::benchmark_fill", Range(0, size(values)),
      KOKKOS_LAMBDA(const std::int64_t i) { values(i) = philox_normal(key, i); });
  return matrix;
}

}  // namespace minigift
