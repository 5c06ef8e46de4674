#include "kernels/linalg/reductions.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/pieces.hpp"

#include <algorithm>

namespace minigift {
namespace {

using linalg::piece_count;
using linalg::runs_on_host;

/// One length per piece for whole vectors, a narrower one for columns, whose sums live in registers.
constexpr std::int64_t row_piece = linalg::piece_elements;
constexpr std::int64_t column_piece = runs_on_host ? 32 : 1;

KOKKOS_FORCEINLINE_FUNCTION double widen(float value) {
  return value;
}
KOKKOS_FORCEINLINE_FUNCTION double widen(double value) {
  return value;
}
KOKKOS_FORCEINLINE_FUNCTION double widen(bfloat16 value) {
  return to_float(value);
}

/// sum of squares of `count` contiguous elements.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION double contiguous_sum(const T* x, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = widen(x[i]);
    sum += value * value;
  }
  return sum;
}

}  // namespace

template <class T>
double sum_of_squares(const Vector<const T>& x) {
  const std::int64_t count = size(x);
  if (count == 0) return 0;
  double total = 0;
  Kokkos::parallel_reduce(
      "minigift::sum_of_squares", range(piece_count(count, row_piece)),
      KOKKOS_LAMBDA(const std::int64_t piece, double& sum) {
        const std::int64_t first = piece * row_piece;
        const std::int64_t length = count - first < row_piece ? count - first : row_piece;
        sum += contiguous_sum(&x(first), length);
      },
      total);
  return total;
}

template <class T>
void column_sums_of_squares(const Matrix<const T>& a, const Vector<double>& sums) {
  const std::int64_t rows = extent(a, 0), columns = extent(a, 1);
  require(size(sums) == columns, "column sums: {} columns but room for {} sums", columns, size(sums));
  Kokkos::parallel_for(
      "minigift::column_sums_of_squares", range(piece_count(columns, column_piece)),
      KOKKOS_LAMBDA(const std::int64_t piece) {
        const std::int64_t first = piece * column_piece;
        const std::int64_t width = columns - first < column_piece ? columns - first : column_piece;
        double sum[column_piece] = {};
        for (std::int64_t i = 0; i < rows; ++i) {
          const T* const row = &a(i, first);
#pragma omp simd
          for (std::int64_t j = 0; j < width; ++j) {
            const double value = widen(row[j]);
            sum[j] += value * value;
          }
        }
        for (std::int64_t j = 0; j < width; ++j)
          sums(first + j) = sum[j];
      });
}

template <class T>
void row_sums_of_squares(const Matrix<const T>& a, const Vector<double>& sums) {
  const std::int64_t rows = extent(a, 0), columns = extent(a, 1);
  require(size(sums) == rows, "row sums: {} rows but room for {} sums", rows, size(sums));
  if (columns == 0) return fill(sums, 0.0);
  Kokkos::parallel_for(
      "minigift::row_sums_of_squares", range(rows),
      KOKKOS_LAMBDA(const std::int64_t i) { sums(i) = contiguous_sum(&a(i, 0), columns); });
}

double dot(const Vector<const double>& x, const Vector<const double>& y) {
  require(size(x) == size(y), "dot product of {} and {} elements", size(x), size(y));
  double total = 0;
  Kokkos::parallel_reduce(
      "minigift::dot", range(size(x)),
      KOKKOS_LAMBDA(const std::int64_t i, double& sum) { sum += x(i) * y(i); }, total);
  return total;
}

#define MINIGIFT_INSTANTIATE(T)                                                           \
  template double sum_of_squares<T>(const Vector<const T>&);                              \
  template void column_sums_of_squares<T>(const Matrix<const T>&, const Vector<double>&); \
  template void row_sums_of_squares<T>(const Matrix<const T>&, const Vector<double>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
MINIGIFT_INSTANTIATE(bfloat16)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
