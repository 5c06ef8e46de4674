#pragma once
// Windows into flat buffers: the only place above kernels/linalg where a view is built from another view's
// memory. The windows do not own memory; the flat buffer must outlive them.

#include "kernels/error.hpp"
#include "kernels/view.hpp"

namespace minigift {

/// Elements [offset, offset + count) of a flat buffer.
template <class T>
Vector<T> slice(const Vector<T>& flat, std::int64_t offset, std::int64_t count) {
  require(offset >= 0 && count >= 0 && offset + count <= size(flat),
          "slice [{}, {}) lies outside a buffer of {} elements", offset, offset + count, size(flat));
  const auto begin = static_cast<std::size_t>(offset);
  return Kokkos::subview(flat, Kokkos::make_pair(begin, begin + static_cast<std::size_t>(count)));
}

/// The same window as a row-major matrix.
template <class T>
Matrix<T> slice(const Vector<T>& flat, std::int64_t offset, std::int64_t rows, std::int64_t columns) {
  const Vector<T> window = slice(flat, offset, rows * columns);
  return Matrix<T>(window.data(), static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
}

/// Rows [first, first + count) of a matrix; still contiguous.
template <class T>
Matrix<T> row_slice(const Matrix<T>& matrix, std::int64_t first, std::int64_t count) {
  require(first >= 0 && count >= 0 && first + count <= extent(matrix, 0),
          "rows [{}, {}) lie outside a matrix of {} rows", first, first + count, extent(matrix, 0));
  const auto begin = static_cast<std::size_t>(first);
  const auto rows = Kokkos::subview(matrix, Kokkos::make_pair(begin, begin + static_cast<std::size_t>(count)),
                                    Kokkos::ALL());
  return Matrix<T>(rows.data(), static_cast<std::size_t>(count), matrix.extent(1));
}

/// All elements of a contiguous matrix in row order.
template <class T>
Vector<T> flatten(const Matrix<T>& matrix) {
  return Vector<T>(matrix.data(), matrix.size());
}

}  // namespace minigift
