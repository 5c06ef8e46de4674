#include "kernels/nn/attention_device_forward.hpp"
#include "kernels/nn/attention_launch.hpp"
#include "kernels/nn/attention_tiles.hpp"

namespace minigift {
namespace {

using namespace attention;

/// One team per (sequence, query head, tile of queries); it walks the tiles of keys from the first to the
/// diagonal with a running maximum m, denominator l and unnormalised output: when m grows by some amount,
/// what was summed before shrinks by the exponential of that amount.
template <class S, int D_fixed>
struct ForwardTile {
  AttentionShape shape;
  ConstMatrix<S> q, k, v;
  Matrix<S> out, log_sum_exp;
  S scale;
  std::int64_t tiles;
  int level;

  static std::int64_t scratch_count(std::int64_t D) {
    const std::int64_t width = padded_width<S>(D);
    return Scratch<S>::round_up(D * tile_edge) + 3 * tile_edge * width + tile_edge * tile_edge +
           3 * tile_edge;
  }

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t D = D_fixed > 0 ? D_fixed : shape.D;
    const std::int64_t width = padded_width<S>(D);
    const std::int64_t league = team.league_rank();
    const std::int64_t tile = tiles - 1 - league % tiles;  // the longest rows first
    const std::int64_t head = league / tiles % shape.H;
    const std::int64_t sequence = league / tiles / shape.H;
    const std::int64_t group = shape.H / shape.H_kv;
    const std::int64_t first_query = tile * tile_edge;
    const std::int64_t queries = math::min(shape.T - first_query, std::int64_t{tile_edge});

    Scratch<S> scratch(team, level, scratch_count(D));
    S* q_transposed = scratch.take(D * tile_edge);
    S* k_tile = scratch.take(tile_edge * width);
    S* v_tile = scratch.take(tile_edge * width);
    S* sum = scratch.take(tile_edge * width);
    S* scores = scratch.take(tile_edge * tile_edge);
    S* maximum = scratch.take(tile_edge);
    S* denominator = scratch.take(tile_edge);
    S* shrink = scratch.take(tile_edge);

    const std::int64_t row = sequence * shape.T + first_query;
    const HeadRows<const S> q_head{&q(row, head * D), shape.H * D};
    load_tile_transposed(team, q_head, queries, D, scale, q_transposed);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, std::int64_t{tile_edge}), [&](std::int64_t t) {
      maximum[t] = -Kokkos::Experimental::infinity<S>::value;
      denominator[t] = S(0);
    });

    for (std::int64_t key_tile = 0; key_tile <= tile; ++key_tile) {
      const bool diagonal = key_tile == tile;
      const std::int64_t keys = math::min(shape.T - key_tile * tile_edge, std::int64_t{tile_edge});
      const std::int64_t key_row = sequence * shape.T + key_tile * tile_edge;
      const std::int64_t kv_column = head / group * D;
      load_tile(team, HeadRows<const S>{&k(key_row, kv_column), shape.H_kv * D}, keys, D, S(1), k_tile);
      load_tile(team, HeadRows<const S>{&v(key_row, kv_column), shape.H_kv * D}, keys, D, S(1), v_tile);
      team.team_barrier();
      score_tile(team, k_tile, q_transposed, D, diagonal, scores);
      team.team_barrier();
      Kokkos::parallel_for(
          Kokkos::TeamThreadRange(team, std::int64_t{tile_edge / lane_count<S>}), [&](std::int64_t lane) {
            softmax_columns(lane * lane_count<S>, diagonal, scores, maximum, denominator, shrink);
          });
      team.team_barrier();
      const Update update = key_tile == 0 ? Update::assign : Update::scale_and_add;
      keys_to_queries(team, scores, v_tile, D, diagonal, update, shrink, sum);
      team.team_barrier();
    }

    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, queries), [&](std::int64_t t) {
      const S inverse = S(1) / denominator[t];
      S* to = &out(row + t, head * D);
#pragma omp simd
      for (std::int64_t d = 0; d < D; ++d)
        to[d] = inverse * sum[t * width + d];
      log_sum_exp(sequence * shape.H + head, first_query + t) = maximum[t] + math::log(denominator[t]);
    });
  }

  /// Turns the scores of lane_count queries into exponentials and brings their running softmax up to date.
  KOKKOS_FORCEINLINE_FUNCTION static void softmax_columns(std::int64_t query, bool diagonal, S* scores,
                                                          S* maximum, S* denominator, S* shrink) {
    if (diagonal) mask_future(query, scores);
    const std::int64_t keys = visible_keys<S>(diagonal, query);
    Lanes<S> largest, score;
    load(maximum + query, largest);
    for (std::int64_t s = 0; s < keys; ++s) {
      load(scores + s * tile_edge + query, score);
      largest = score > largest ? score : largest;
    }
    S new_maximum[lane_count<S>];
    store<S>(largest, new_maximum);
#pragma omp simd
    for (int i = 0; i < lane_count<S>; ++i) {
      shrink[query + i] = math::exp(maximum[query + i] - new_maximum[i]);
      maximum[query + i] = new_maximum[i];
    }
    Lanes<S> total{};
    for (std::int64_t s = 0; s < keys; ++s) {
      S* column = scores + s * tile_edge + query;
#pragma omp simd
      for (int i = 0; i < lane_count<S>; ++i)
        column[i] = math::exp(column[i] - new_maximum[i]);
      load(column, score);
      total += score;
    }
    Lanes<S> old, factor;
    load(denominator + query, old);
    load(shrink + query, factor);
    store<S>(old * factor + total, denominator + query);
  }
};

template <class S, int D_fixed>
void launch_forward(const AttentionShape& shape, const ConstMatrix<S>& q, const ConstMatrix<S>& k,
                    const ConstMatrix<S>& v, const Matrix<S>& out, const Matrix<S>& log_sum_exp) {
  if constexpr (scalar_lanes) {
    launch_device_forward<S, D_fixed>(shape, q, k, v, out, log_sum_exp);
  } else {
    using Kernel = ForwardTile<S, D_fixed>;
    const std::int64_t tiles = (shape.T + tile_edge - 1) / tile_edge;
    const Launch launch =
        make_launch(shape.B * shape.H * tiles, Kernel::scratch_count(shape.D) * std::int64_t{sizeof(S)});
    const S scale = S(1) / math::sqrt(static_cast<S>(shape.D));
    Kokkos::parallel_for("minigift::attention_forward", launch.policy,
                         Kernel{shape, q, k, v, out, log_sum_exp, scale, tiles, launch.level});
  }
}

}  // namespace

template <class S>
void attention_forward(const AttentionShape& shape, const ConstMatrix<S>& q, const ConstMatrix<S>& k,
                       const ConstMatrix<S>& v, const Matrix<S>& out, const Matrix<S>& log_sum_exp) {
  require_attention_shape(shape);
  const std::int64_t rows = shape.B * shape.T;
  require_extents("q", q, rows, shape.H * shape.D);
  require_extents("k", k, rows, shape.H_kv * shape.D);
  require_extents("v", v, rows, shape.H_kv * shape.D);
  require_extents("out", out, rows, shape.H * shape.D);
  require_extents("log_sum_exp", log_sum_exp, shape.B * shape.H, shape.T);
  if (rows == 0) return;
  if constexpr (std::is_same_v<S, float>) {
    if (shape.D == 32) return launch_forward<S, 32>(shape, q, k, v, out, log_sum_exp);
    if (shape.D == 64) return launch_forward<S, 64>(shape, q, k, v, out, log_sum_exp);
    if (shape.D == 128) return launch_forward<S, 128>(shape, q, k, v, out, log_sum_exp);
  }
  launch_forward<S, 0>(shape, q, k, v, out, log_sum_exp);
}

#define MINIGIFT_INSTANTIATE(S)                                                                           \
  template void attention_forward<S>(const AttentionShape&, const ConstMatrix<S>&, const ConstMatrix<S>&, \
                                     const ConstMatrix<S>&, const Matrix<S>&, const Matrix<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)

}  // namespace minigift
