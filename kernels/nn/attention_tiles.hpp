#pragma once
// The steps that the forward and the backward pass of attention share, each done by one team on tiles in its
// scratch.
//
// Tiles of scores are kept transposed, score(s,t) at data[s*tile_edge + t] for key s and query t: then keys
// and values are used as they lie in memory, only the queries are transposed (once per query tile, not per
// pair of tiles), and the softmax of a query runs down a column, so that neighbouring queries fill the lanes
// and nothing is summed across lanes.

#include "kernels/math.hpp"
#include "kernels/nn/attention.hpp"
#include "kernels/nn/tile_product.hpp"

#include <Kokkos_NumericTraits.hpp>

namespace minigift::attention {

/// Head width rounded up to whole registers: the row stride of tiles of keys, values, queries and outputs.
template <class S>
KOKKOS_INLINE_FUNCTION std::int64_t padded_width(std::int64_t D) {
  return (D + lane_count<S> - 1) / lane_count<S> * lane_count<S>;
}

/// Hands out pieces of a team's scratch, each at a multiple of 64 bytes.
template <class S>
class Scratch {
 public:
  KOKKOS_INLINE_FUNCTION Scratch(const TeamMember& team, int level, std::int64_t count)
      : next_(static_cast<S*>(team.team_scratch(level).get_shmem_aligned(
            count * static_cast<std::int64_t>(sizeof(S)), alignment))) {}
  KOKKOS_INLINE_FUNCTION S* take(std::int64_t count) {
    S* piece = next_;
    next_ += round_up(count);
    return piece;
  }
  KOKKOS_INLINE_FUNCTION static std::int64_t round_up(std::int64_t count) {
    constexpr std::int64_t per_line = alignment / static_cast<std::int64_t>(sizeof(S));
    return (count + per_line - 1) / per_line * per_line;
  }
  static constexpr int alignment = 64;

 private:
  S* next_;
};

/// Some rows of one head: element (r, d) at data[r*row_stride + d].
template <class S>
struct HeadRows {
  S* data;
  std::int64_t row_stride;
};

/// tile(tile_edge, padded width) = factor * the first `rows` rows of a head; zero beyond them and beyond D.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void load_tile(const TeamMember& team, const HeadRows<const S>& head,
                                           std::int64_t rows, std::int64_t D, S factor, S* tile) {
  const std::int64_t width = padded_width<S>(D);
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, std::int64_t{tile_edge}), [&](std::int64_t r) {
    S* to = tile + r * width;
    const std::int64_t valid = r < rows ? D : 0;
    const S* from = head.data + (r < rows ? r : 0) * head.row_stride;
#pragma omp simd
    for (std::int64_t d = 0; d < valid; ++d)
      to[d] = factor * from[d];
    for (std::int64_t d = valid; d < width; ++d)
      to[d] = S(0);
  });
}

/// tile(D, tile_edge) = factor * the transpose of the first `rows` rows of a head; zero beyond them.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void load_tile_transposed(const TeamMember& team, const HeadRows<const S>& head,
                                                      std::int64_t rows, std::int64_t D, S factor, S* tile) {
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, std::int64_t{tile_edge}), [&](std::int64_t r) {
    const S* from = head.data + (r < rows ? r : 0) * head.row_stride;
    const S row_factor = r < rows ? factor : S(0);
    for (std::int64_t d = 0; d < D; ++d)
      tile[d * tile_edge + r] = r < rows ? row_factor * from[d] : S(0);
  });
}

/// scores(s,t) = sum_d left(s,d) right(d,t). On the diagonal, blocks without any pair s <= t are left as they
/// are.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void score_tile(const TeamMember& team, const S* left, const S* right_transposed,
                                            std::int64_t D, bool diagonal, S* scores) {
  const LeftOperand<S> a{left, padded_width<S>(D), 1};
  const RightOperand<S> b{right_transposed, tile_edge};
  for_each_block<S>(team, tile_edge, tile_edge, [&](std::int64_t row, std::int64_t column, auto registers) {
    constexpr int Columns = decltype(registers)::value;
    if (diagonal && row >= column + Columns * lane_count<S>) return;
    Lanes<S> sum[block_rows][Columns];
    block_product(a, b, 0, D, row, column, sum);
    for (int i = 0; i < block_rows; ++i)
      for (int j = 0; j < Columns; ++j)
        store<S>(sum[i][j], scores + (row + i) * tile_edge + column + j * lane_count<S>);
  });
}

/// Of the keys of a tile, how many rows of scores the products read for the lane_count queries from `query`:
/// on the diagonal those the queries can see, and the rest of the block in which the last of them lies.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION std::int64_t visible_keys(bool diagonal, std::int64_t query) {
  if (!diagonal) return tile_edge;
  return (query + lane_count<S> + block_rows - 1) / block_rows * block_rows;
}

/// Minus infinity where the key lies after the query, in the visible rows of the columns [query, query +
/// lane_count).
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void mask_future(std::int64_t query, S* scores) {
  for (std::int64_t s = query + 1; s < visible_keys<S>(true, query); ++s)
    for (std::int64_t t = query; t < math::min(s, query + lane_count<S>); ++t)
      scores[s * tile_edge + t] = -Kokkos::Experimental::infinity<S>::value;
}

/// How the block sums meet what is already there.
enum class Update { assign, add, scale_and_add };

/// result(t,d) (+)= sum_s scores(s,t) right(s,d): from keys to queries, only s <= t on the diagonal. With
/// scale_and_add the old row t is first multiplied by factor[t]. `result` is a tile of tile_edge rows of the
/// padded width.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void keys_to_queries(const TeamMember& team, const S* scores, const S* right,
                                                 std::int64_t D, bool diagonal, Update update,
                                                 const S* factor, S* result) {
  const std::int64_t width = padded_width<S>(D);
  const LeftOperand<S> a{scores, 1, tile_edge};
  const RightOperand<S> b{right, width};
  for_each_block<S>(team, tile_edge, width, [&](std::int64_t row, std::int64_t column, auto registers) {
    constexpr int Columns = decltype(registers)::value;
    Lanes<S> sum[block_rows][Columns];
    block_product(a, b, 0, diagonal ? row + block_rows : std::int64_t{tile_edge}, row, column, sum);
    for (int i = 0; i < block_rows; ++i) {
      for (int j = 0; j < Columns; ++j) {
        S* to = result + (row + i) * width + column + j * lane_count<S>;
        if (update != Update::assign) {
          Lanes<S> old;
          load(to, old);
          sum[i][j] += update == Update::add ? old : factor[row + i] * old;
        }
        store<S>(sum[i][j], to);
      }
    }
  });
}

/// result(s,d) (+)= sum_t scores(s,t) right(t,d): from queries to keys, only t >= s on the diagonal, straight
/// into the first `rows` rows of a head's gradient.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void queries_to_keys(const TeamMember& team, const S* scores, const S* right,
                                                 std::int64_t D, bool diagonal, Update update,
                                                 std::int64_t rows, const HeadRows<S>& result) {
  const std::int64_t width = padded_width<S>(D);
  const LeftOperand<S> a{scores, tile_edge, 1};
  const RightOperand<S> b{right, width};
  for_each_block<S>(team, tile_edge, width, [&](std::int64_t row, std::int64_t column, auto registers) {
    constexpr int Columns = decltype(registers)::value;
    if (row >= rows) return;
    Lanes<S> sum[block_rows][Columns];
    block_product(a, b, diagonal ? row : 0, tile_edge, row, column, sum);
    for (int i = 0; i < block_rows; ++i) {
      if (row + i >= rows) break;
      for (int j = 0; j < Columns; ++j) {
        const std::int64_t first = column + j * lane_count<S>;
        S* to = result.data + (row + i) * result.row_stride + first;
        if (first + lane_count<S> <= D) {
          if (update == Update::add) {
            Lanes<S> old;
            load(to, old);
            sum[i][j] += old;
          }
          store<S>(sum[i][j], to);
        } else {
          S part[lane_count<S>];
          store<S>(sum[i][j], part);
          for (std::int64_t d = 0; d < D - first; ++d)
            to[d] = update == Update::add ? to[d] + part[d] : part[d];
        }
      }
    }
  });
}

}  // namespace minigift::attention
