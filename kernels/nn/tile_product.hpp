#pragma once
// Products of the small matrices that a team keeps in its scratch memory, on a host.
//
//   sum(m,n) = sum_{k in [begin,end)} a(m,k) b(k,n)
//
// is cut into blocks of `block_rows` rows by `block_columns` registers of Lanes. A thread forms one block at
// a time with every partial sum in a register: block_rows*block_columns multiply-adds for block_rows +
// block_columns loads.

#include "kernels/nn/lanes.hpp"
#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// Rows and registers per block: 16 sums where there are 32 registers, 8 where there are 16.
inline constexpr int block_rows = register_count < 32 ? 4 : 8;
inline constexpr int block_columns = 2;
/// Edge of a square tile of scores: a multiple of block_rows and of lane_count of every scalar.
inline constexpr int tile_edge = 64;

/// a(m,k) is at data[m*row_stride + k*depth_stride].
template <class S>
struct LeftOperand {
  const S* data;
  std::int64_t row_stride;
  std::int64_t depth_stride;
};

/// b(k,n) is at data[k*depth_stride + n].
template <class S>
struct RightOperand {
  const S* data;
  std::int64_t depth_stride;
};

/// A block of sums, begun at zero.
template <class S, int Columns>
KOKKOS_FORCEINLINE_FUNCTION void block_product(const LeftOperand<S>& a, const RightOperand<S>& b,
                                               std::int64_t begin, std::int64_t end, std::int64_t row,
                                               std::int64_t column, Lanes<S> (&sum)[block_rows][Columns]) {
  for (int i = 0; i < block_rows; ++i)
    for (int j = 0; j < Columns; ++j)
      sum[i][j] = Lanes<S>{};
  const S* a_block = a.data + row * a.row_stride;
  const S* b_block = b.data + column;
  for (std::int64_t k = begin; k < end; ++k) {
    Lanes<S> b_row[Columns];
    for (int j = 0; j < Columns; ++j)
      load(b_block + k * b.depth_stride + j * lane_count<S>, b_row[j]);
    for (int i = 0; i < block_rows; ++i) {
      const S a_value = a_block[i * a.row_stride + k * a.depth_stride];
      for (int j = 0; j < Columns; ++j)
        sum[i][j] += a_value * b_row[j];
    }
  }
}

/// Calls form(row, column, integral constant number of registers) for every block of a (rows, columns)
/// result, spread over the threads of the team. `columns` is a multiple of lane_count<S>, `rows` of
/// block_rows.
template <class S, class Form>
KOKKOS_FORCEINLINE_FUNCTION void for_each_block(const TeamMember& team, std::int64_t rows,
                                                std::int64_t columns, const Form& form) {
  const std::int64_t row_blocks = rows / block_rows;
  const std::int64_t wide = columns / (block_columns * lane_count<S>);
  const std::int64_t narrow = columns / lane_count<S> - wide * block_columns;
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, row_blocks * (wide + narrow)), [&](std::int64_t block) {
    const std::int64_t column_block = block / row_blocks;
    const std::int64_t row = (block - column_block * row_blocks) * block_rows;
    if (column_block < wide) {
      form(row, column_block * block_columns * lane_count<S>, std::integral_constant<int, block_columns>{});
    } else {
      const std::int64_t registers_before = wide * block_columns + (column_block - wide);
      form(row, registers_before * lane_count<S>, std::integral_constant<int, 1>{});
    }
  });
}

}  // namespace minigift
