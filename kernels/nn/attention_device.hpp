#pragma once
// The pieces of attention on a GPU: tiles in the scratch memory of a team, and products of them.
//
// A tile has `edge` rows of one head, each padded with zeros to whole blocks and to an odd stride, so that
// threads that read the same column of neighbouring rows meet different banks. A square of scores is kept as
// score(t,s) for query t and key s. A thread forms one block of a product in registers:
// block_rows*block_columns multiply-adds for block_rows + block_columns loads from scratch. Kokkos gives a
// team at most 40 KiB of the fast memory, which decides the edges: four tiles and the scores of D = 64 take
// 37 KiB with an edge of 32, those of D = 128 34 KiB with an edge of 16 (FP32).

#include "kernels/device/stream.hpp"
#include "kernels/math.hpp"
#include "kernels/nn/attention_launch.hpp"
#include "kernels/scalar_lanes.hpp"

#include <Kokkos_NumericTraits.hpp>

#include <cstdint>
#include <type_traits>

namespace minigift::attention {

/// Measures of the tiles for heads of width D_fixed, or of any width where that is 0.
template <class S, int D_fixed>
struct DeviceTiles {
  static constexpr int edge = D_fixed > 0 && D_fixed <= 64 && sizeof(S) == 4 ? 32 : 16;
  static constexpr int block_rows = edge / 8;
  static constexpr int block_columns = 4;
  static constexpr int score_stride = edge + 1;

  /// Columns of a tile: D rounded up to whole blocks.
  KOKKOS_FORCEINLINE_FUNCTION static int width(int D) {
    return (D + block_columns - 1) / block_columns * block_columns;
  }
  KOKKOS_FORCEINLINE_FUNCTION static int stride(int D) { return width(D) + 1; }
  /// Elements of scratch for four tiles, the scores and three columns.
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t scratch_count(std::int64_t D) {
    return 4 * edge * std::int64_t{stride(static_cast<int>(D))} + edge * score_stride + 3 * edge;
  }
};

/// left(m,k) at data[m*row_stride + k*column_stride], and a right operand (k,n) likewise.
template <class S>
struct Operand {
  const S* data;
  int row_stride;
  int column_stride;
};

/// A team's pieces of scratch, one after another.
template <class S>
class DeviceScratch {
 public:
  KOKKOS_FORCEINLINE_FUNCTION DeviceScratch(const TeamMember& team, int level, std::int64_t count)
      : next_(static_cast<S*>(team.team_scratch(level).get_shmem_aligned(
            static_cast<std::size_t>(count) * sizeof(S), sizeof(S)))) {}
  KOKKOS_FORCEINLINE_FUNCTION S* take(int count) {
    S* const piece = next_;
    next_ += count;
    return piece;
  }

 private:
  S* next_;
};

/// form(row, column) for every block of a (rows, columns) result, spread over the team.
template <class Tiles, class Form>
KOKKOS_FORCEINLINE_FUNCTION void for_blocks(const TeamMember& team, int rows, int columns, const Form& form) {
  const int across = columns / Tiles::block_columns, down = rows / Tiles::block_rows;
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, across * down), [&](int block) {
    form(block % down * Tiles::block_rows, block / down * Tiles::block_columns);
  });
}

/// sum(i,j) = sum over k < depth of left(row + i, k) right(k, column + j).
template <class Tiles, class S>
KOKKOS_FORCEINLINE_FUNCTION void multiply(const Operand<S>& left, const Operand<S>& right, int depth, int row,
                                          int column, S (&sum)[Tiles::block_rows][Tiles::block_columns]) {
  for (int i = 0; i < Tiles::block_rows; ++i)
    for (int j = 0; j < Tiles::block_columns; ++j)
      sum[i][j] = S(0);
  const S* a = left.data + row * left.row_stride;
  const S* b = right.data + column * right.column_stride;
  for (int k = 0; k < depth; ++k) {
    S values[Tiles::block_columns];
    for (int j = 0; j < Tiles::block_columns; ++j)
      values[j] = b[j * right.column_stride];
    for (int i = 0; i < Tiles::block_rows; ++i) {
      const S factor = a[i * left.row_stride];
      for (int j = 0; j < Tiles::block_columns; ++j)
        sum[i][j] += factor * values[j];
    }
    a += left.column_stride;
    b += right.row_stride;
  }
}

/// Rows of one head in memory: element (r, d) at data[r*stride + d].
template <class S>
struct DeviceRows {
  S* data;
  std::int64_t stride;
};

/// tile <- the first `rows` rows, zeros beyond them and beyond D. Neighbouring threads read neighbouring
/// elements.
template <class Tiles, class S>
KOKKOS_FORCEINLINE_FUNCTION void load_rows(const TeamMember& team, const DeviceRows<const S>& head, int rows,
                                           int D, S* tile) {
  const int width = Tiles::width(D), stride = Tiles::stride(D);
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, Tiles::edge * width), [&](int n) {
    const int r = n / width, d = n % width;
    tile[r * stride + d] = r < rows && d < D ? head.data[r * head.stride + d] : S(0);
  });
}

/// to(m, d) (+)= sum over k < edge of left(m, k) tile(k, d), in memory: the team alone writes these rows.
template <class Tiles, class S>
KOKKOS_FORCEINLINE_FUNCTION void add_to_rows(const TeamMember& team, const Operand<S>& left, const S* tile,
                                             int rows, int D, bool assign, const DeviceRows<S>& to) {
  for_blocks<Tiles>(team, Tiles::edge, Tiles::width(D), [&](int row, int column) {
    S sum[Tiles::block_rows][Tiles::block_columns];
    multiply<Tiles, S>(left, {tile, Tiles::stride(D), 1}, Tiles::edge, row, column, sum);
    for (int i = 0; i < Tiles::block_rows; ++i)
      for (int j = 0; j < Tiles::block_columns; ++j) {
        if (row + i >= rows || column + j >= D) continue;
        S& target = to.data[(row + i) * to.stride + column + j];
        target = assign ? sum[i][j] : target + sum[i][j];
      }
  });
}

/// Rows of the tile that begins at row `first` of a sequence of T.
KOKKOS_FORCEINLINE_FUNCTION int rows_from(std::int64_t T, std::int64_t first, int edge) {
  const std::int64_t left = T - first;
  return left < edge ? static_cast<int>(left) : edge;
}

/// Number of tiles that cover a sequence.
template <class Tiles>
KOKKOS_FORCEINLINE_FUNCTION std::int64_t tiles_of(std::int64_t T) {
  return (T + Tiles::edge - 1) / Tiles::edge;
}

}  // namespace minigift::attention
