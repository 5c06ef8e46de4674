#pragma once
// Matrices for the tests of linalg, geometry and optim.

#include "kernels/view.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace minigift::test {

/// Copies between views of the execution space and plain vectors, row-major.
template <class T>
Matrix<T> to_matrix(const std::vector<T>& values, std::int64_t rows, std::int64_t columns) {
  const Matrix<T> matrix("matrix", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  const auto host = Kokkos::create_mirror_view(matrix);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      host(i, j) = values[static_cast<std::size_t>(i * columns + j)];
  Kokkos::deep_copy(matrix, host);
  return matrix;
}
template <class T>
Vector<T> to_vector(const std::vector<T>& values) {
  const Vector<T> vector("vector", values.size());
  const auto host = Kokkos::create_mirror_view(vector);
  for (std::size_t i = 0; i < values.size(); ++i)
    host(i) = values[i];
  Kokkos::deep_copy(vector, host);
  return vector;
}
template <class T>
std::vector<std::remove_const_t<T>> values_of(const Matrix<T>& matrix) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), matrix);
  std::vector<std::remove_const_t<T>> values;
  values.reserve(matrix.size());
  for (std::int64_t i = 0; i < extent(host, 0); ++i)
    for (std::int64_t j = 0; j < extent(host, 1); ++j)
      values.push_back(host(i, j));
  return values;
}
template <class T>
std::vector<std::remove_const_t<T>> values_of(const Vector<T>& vector) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), vector);
  std::vector<std::remove_const_t<T>> values;
  values.reserve(vector.size());
  for (std::int64_t i = 0; i < extent(host, 0); ++i)
    values.push_back(host(i));
  return values;
}

/// A copy with memory of its own.
template <class T>
Matrix<T> clone(const Matrix<T>& matrix) {
  const Matrix<T> copy("clone", matrix.extent(0), matrix.extent(1));
  Kokkos::deep_copy(copy, matrix);
  return copy;
}

/// Standard normal values, rounded to T.
template <class T>
std::vector<T> gaussian(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values)
    value = static_cast<T>(normal(engine));
  return values;
}
template <class T>
Matrix<T> gaussian_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return to_matrix(gaussian<T>(rows * columns, seed), rows, columns);
}

template <class T>
std::vector<double> to_double(const std::vector<T>& values) {
  return std::vector<double>(values.begin(), values.end());
}

}  // namespace minigift::test
