// Chunks and pieces cover an array exactly, within their limits.

#include "miniapp/trace/layout.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace minigift::trace_layout;

TEST(Layout, PiecesCoverEveryElementOnceInWholeChunks) {
  for (const std::int64_t rows : {1, 2, 7, 64, 1000}) {
    for (const std::int64_t columns : {1, 3, 64, 301}) {
      for (const std::int64_t chunk_bytes : {4, 40, 256, 4096, 1 << 22}) {
        for (const std::int64_t max_bytes : {4, 1000, 5000, 1 << 30}) {
          const ChunkShape chunk = chunk_shape(rows, columns, std::min(chunk_bytes, max_bytes));
          ASSERT_GE(chunk.rows, 1);
          ASSERT_GE(chunk.columns, 1);
          ASSERT_LE(chunk.rows, rows);
          ASSERT_LE(chunk.columns, columns);
          ASSERT_LE(4 * chunk.rows * chunk.columns, std::min(chunk_bytes, max_bytes));
          ASSERT_TRUE(chunk.columns == columns || chunk.rows == 1);
          std::vector<int> seen(static_cast<std::size_t>(rows * columns), 0);
          for (const Piece& piece : pieces(rows, columns, chunk, max_bytes)) {
            ASSERT_LE(4 * piece.rows * piece.columns, max_bytes);
            ASSERT_EQ(piece.row % chunk.rows, 0);
            ASSERT_EQ(piece.column % chunk.columns, 0);
            ASSERT_TRUE(piece.columns == columns || piece.rows == 1);  // contiguous in memory
            for (std::int64_t r = piece.row; r < piece.row + piece.rows; ++r)
              for (std::int64_t c = piece.column; c < piece.column + piece.columns; ++c)
                ++seen[static_cast<std::size_t>(r * columns + c)];
          }
          for (const int times : seen)
            ASSERT_EQ(times, 1) << rows << " x " << columns << ", " << chunk_bytes << ", " << max_bytes;
        }
      }
    }
  }
}

TEST(Layout, ChunksAreEvenSoThatTheLastWastesLittle) {
  // 1000 rows of 1 KiB in chunks of at most 300 KiB: 4 chunks of 250 rows instead of 3 of 300 and one of 100.
  EXPECT_EQ(chunk_shape(1000, 256, 300 * 1024).rows, 250);
  EXPECT_EQ(chunk_shape(10, 256, 1 << 22).rows, 10);
}

TEST(Layout, StepsSortAsNumbersDo) {
  EXPECT_EQ(step_path(50), "/steps/00000050");
  EXPECT_EQ(array_path(7, ArrayKind::gradient, "a.weight"), "/steps/00000007/gradient/a.weight");
  EXPECT_EQ(step_path(123456789012), "/steps/123456789012");
}

}  // namespace
