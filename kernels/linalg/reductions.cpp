#include "kernels/linalg/reductions.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/pieces.hpp"

#include <algorithm>

namespace minigift {
namespace {

using linalg::piece_count;
using linalg::runs_on_host;

constexpr std::int64_t row_piece = linalg::piece_elements;

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

/// The part of the sum of squares that one piece of x has.
template <class T>
struct SumOfPieces {
  Vector<const T> x;
  std::int64_t count;

  KOKKOS_FUNCTION void operator()(const std::int64_t piece, double& sum) const {
    const std::int64_t first = piece * row_piece;
    const std::int64_t length = count - first < row_piece ? count - first : row_piece;
    sum += contiguous_sum(&x(first), length);
  }
};

/// sums(j), a piece of neighbouring columns per iteration: as many as have sums that live in registers.
template <class T>
void column_sums_on_host(const Matrix<const T>& a, const Vector<double>& sums) {
  constexpr std::int64_t column_piece = 32;
  const std::int64_t rows = extent(a, 0), columns = extent(a, 1);
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

/// sums(j) in two stages: neighbouring threads sum neighbouring columns over a block of rows, then over the
/// blocks. The number of blocks depends on the shape alone, so equal input gives equal bits.
template <class T>
void column_sums_on_device(const Matrix<const T>& a, const Vector<double>& sums) {
  const std::int64_t rows = extent(a, 0), columns = extent(a, 1);
  // Enough threads to fill a large GPU, not so many blocks that the second stage takes long.
  constexpr std::int64_t enough_threads = std::int64_t{1} << 18, fewest_rows = 8, most_blocks = 256;
  const std::int64_t wanted = std::min({piece_count(enough_threads, std::max<std::int64_t>(columns, 1)),
                                        piece_count(rows, fewest_rows), most_blocks});
  const std::int64_t block_rows = piece_count(rows, std::max<std::int64_t>(wanted, 1));
  const std::int64_t blocks = block_rows > 0 ? piece_count(rows, block_rows) : 0;
  const Vector<double> partial = stream_scratch<double>("minigift::column_sums", blocks * columns);
  Kokkos::parallel_for(
      "minigift::column_sums_of_row_blocks", range(blocks * columns),
      KOKKOS_LAMBDA(const std::int64_t index) {
        const std::int64_t block = index / columns, j = index % columns;
        const std::int64_t first = block * block_rows;
        const std::int64_t end = first + block_rows < rows ? first + block_rows : rows;
        double sum = 0;
        for (std::int64_t i = first; i < end; ++i) {
          const double value = widen(a(i, j));
          sum += value * value;
        }
        partial(index) = sum;
      });
  Kokkos::parallel_for(
      "minigift::column_sums_of_squares", range(columns), KOKKOS_LAMBDA(const std::int64_t j) {
        double sum = 0;
        for (std::int64_t block = 0; block < blocks; ++block)
          sum += partial(block * columns + j);
        sums(j) = sum;
      });
}

/// sums(i), one row per iteration.
template <class T>
void row_sums_on_host(const Matrix<const T>& a, const Vector<double>& sums) {
  const std::int64_t columns = extent(a, 1);
  Kokkos::parallel_for(
      "minigift::row_sums_of_squares", range(extent(a, 0)),
      KOKKOS_LAMBDA(const std::int64_t i) { sums(i) = contiguous_sum(&a(i, 0), columns); });
}

/// sums(i), one team per row.
template <class T>
void row_sums_on_device(const Matrix<const T>& a, const Vector<double>& sums) {
  const std::int64_t columns = extent(a, 1);
  Kokkos::parallel_for(
      "minigift::row_sums_of_squares", linalg::row_teams(extent(a, 0), columns),
      KOKKOS_LAMBDA(const TeamMember& member) {
        const std::int64_t i = member.league_rank();
        double total = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(member, columns),
            [&](const std::int64_t j, double& sum) {
              const double value = widen(a(i, j));
              sum += value * value;
            },
            total);
        Kokkos::single(Kokkos::PerTeam(member), [&]() { sums(i) = total; });
      });
}

}  // namespace

template <class T>
double sum_of_squares(const Vector<const T>& x) {
  const std::int64_t count = size(x);
  if (count == 0) return 0;
  double total = 0;
  Kokkos::parallel_reduce("minigift::sum_of_squares", range(piece_count(count, row_piece)),
                          SumOfPieces<T>{x, count}, total);
  return total;
}

template <class T>
void sum_of_squares_into(const Vector<const T>& x, const Vector<double>& sum) {
  const std::int64_t count = size(x);
  require(size(sum) == 1, "sum of squares: room for {} sums", size(sum));
  if (count == 0) return fill(sum, 0.0);
  // Kokkos waits for results on the host only; this one stays where it is.
  const Kokkos::View<double, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> result(sum.data());
  Kokkos::parallel_reduce("minigift::sum_of_squares", range(piece_count(count, row_piece)),
                          SumOfPieces<T>{x, count}, result);
}

template <class T>
void column_sums_of_squares(const Matrix<const T>& a, const Vector<double>& sums) {
  require(size(sums) == extent(a, 1), "column sums: {} columns but room for {} sums", extent(a, 1),
          size(sums));
  if constexpr (runs_on_host)
    column_sums_on_host(a, sums);
  else
    column_sums_on_device(a, sums);
}

template <class T>
void row_sums_of_squares(const Matrix<const T>& a, const Vector<double>& sums) {
  require(size(sums) == extent(a, 0), "row sums: {} rows but room for {} sums", extent(a, 0), size(sums));
  if (size(a) == 0) return fill(sums, 0.0);
  if constexpr (runs_on_host)
    row_sums_on_host(a, sums);
  else
    row_sums_on_device(a, sums);
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
  template void sum_of_squares_into<T>(const Vector<const T>&, const Vector<double>&);    \
  template void column_sums_of_squares<T>(const Matrix<const T>&, const Vector<double>&); \
  template void row_sums_of_squares<T>(const Matrix<const T>&, const Vector<double>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
MINIGIFT_INSTANTIATE(bfloat16)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
