#include "kernels/nn/attention_device_backward.hpp"
#include "kernels/nn/attention_launch.hpp"
#include "kernels/nn/attention_tiles.hpp"

namespace minigift {
namespace {

using namespace attention;

/// One team per (sequence, key/value head). For each query head of the group and each tile of its queries it
/// walks the tiles of keys up to the diagonal. The team alone adds to d_k and d_v of its head, in that order:
/// no atomics, and the same bits on every run.
///
/// With P = exp(scores - log_sum_exp), delta[t] = d_out[t].out[t] and dP = d_out v^T (all tiles transposed
/// here):
///   d_v = P^T d_out,   dS = P * (dP - delta),   d_k = dS^T (q scale),   d_q = scale dS k.
template <class S, int D_fixed>
struct BackwardHead {
  AttentionShape shape;
  ConstMatrix<S> q, k, v, out, log_sum_exp, d_out;
  Matrix<S> d_q, d_k, d_v;
  S scale;
  std::int64_t tiles;
  int level;

  static std::int64_t scratch_count(std::int64_t D) {
    const std::int64_t width = padded_width<S>(D);
    return 2 * Scratch<S>::round_up(D * tile_edge) + 5 * tile_edge * width + 2 * tile_edge * tile_edge +
           2 * tile_edge;
  }

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t D = D_fixed > 0 ? D_fixed : shape.D;
    const std::int64_t width = padded_width<S>(D);
    const std::int64_t sequence = team.league_rank() / shape.H_kv;
    const std::int64_t kv_head = team.league_rank() % shape.H_kv;
    const std::int64_t group = shape.H / shape.H_kv;
    const std::int64_t kv_stride = shape.H_kv * D;
    const std::int64_t q_stride = shape.H * D;

    Scratch<S> scratch(team, level, scratch_count(D));
    S* q_transposed = scratch.take(D * tile_edge);
    S* d_out_transposed = scratch.take(D * tile_edge);
    S* q_tile = scratch.take(tile_edge * width);
    S* d_out_tile = scratch.take(tile_edge * width);
    S* k_tile = scratch.take(tile_edge * width);
    S* v_tile = scratch.take(tile_edge * width);
    S* d_q_sum = scratch.take(tile_edge * width);
    S* probability = scratch.take(tile_edge * tile_edge);
    S* d_score = scratch.take(tile_edge * tile_edge);
    S* denominator = scratch.take(tile_edge);
    S* delta = scratch.take(tile_edge);

    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const std::int64_t first_query = tile * tile_edge;
        const std::int64_t queries = math::min(shape.T - first_query, std::int64_t{tile_edge});
        const std::int64_t row = sequence * shape.T + first_query;
        const HeadRows<const S> q_head{&q(row, head * D), q_stride};
        const HeadRows<const S> d_out_head{&d_out(row, head * D), q_stride};
        load_tile(team, q_head, queries, D, scale, q_tile);
        load_tile(team, d_out_head, queries, D, S(1), d_out_tile);
        load_tile_transposed(team, q_head, queries, D, scale, q_transposed);
        load_tile_transposed(team, d_out_head, queries, D, S(1), d_out_transposed);
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, std::int64_t{tile_edge}), [&](std::int64_t t) {
          S dot = S(0);
          if (t < queries) {
            const S* o = &out(row + t, head * D);
            const S* d_o = &d_out(row + t, head * D);
#pragma omp simd reduction(+ : dot)
            for (std::int64_t d = 0; d < D; ++d)
              dot += o[d] * d_o[d];
          }
          delta[t] = dot;
          // exp(anything finite - infinity) = 0: queries beyond the end contribute nothing.
          denominator[t] = t < queries ? log_sum_exp(sequence * shape.H + head, first_query + t)
                                       : Kokkos::Experimental::infinity<S>::value;
        });

        for (std::int64_t key_tile = 0; key_tile <= tile; ++key_tile) {
          const bool diagonal = key_tile == tile;
          const std::int64_t keys = math::min(shape.T - key_tile * tile_edge, std::int64_t{tile_edge});
          const std::int64_t key_row = sequence * shape.T + key_tile * tile_edge;
          load_tile(team, HeadRows<const S>{&k(key_row, kv_head * D), kv_stride}, keys, D, S(1), k_tile);
          load_tile(team, HeadRows<const S>{&v(key_row, kv_head * D), kv_stride}, keys, D, S(1), v_tile);
          team.team_barrier();
          score_tile(team, k_tile, q_transposed, D, diagonal, probability);
          score_tile(team, v_tile, d_out_transposed, D, diagonal, d_score);
          team.team_barrier();
          Kokkos::parallel_for(
              Kokkos::TeamThreadRange(team, std::int64_t{tile_edge / lane_count<S>}), [&](std::int64_t lane) {
                softmax_columns(lane * lane_count<S>, diagonal, denominator, delta, probability, d_score);
              });
          team.team_barrier();
          // Every key tile is met for the first time on the diagonal of the group's first head.
          const Update update = diagonal && head == kv_head * group ? Update::assign : Update::add;
          queries_to_keys(team, probability, d_out_tile, D, diagonal, update, keys,
                          HeadRows<S>{&d_v(key_row, kv_head * D), kv_stride});
          queries_to_keys(team, d_score, q_tile, D, diagonal, update, keys,
                          HeadRows<S>{&d_k(key_row, kv_head * D), kv_stride});
          keys_to_queries(team, d_score, k_tile, D, diagonal, key_tile == 0 ? Update::assign : Update::add,
                          delta, d_q_sum);
          team.team_barrier();
        }

        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, queries), [&](std::int64_t t) {
          S* to = &d_q(row + t, head * D);
#pragma omp simd
          for (std::int64_t d = 0; d < D; ++d)
            to[d] = scale * d_q_sum[t * width + d];
        });
        team.team_barrier();
      }
    }
  }

  /// For the lane_count queries from `query`: scores become P, and dP becomes dS = P * (dP - delta).
  KOKKOS_FORCEINLINE_FUNCTION static void softmax_columns(std::int64_t query, bool diagonal,
                                                          const S* denominator, const S* delta,
                                                          S* probability, S* d_score) {
    if (diagonal) {
      mask_future(query, probability);
    }
    const std::int64_t keys = visible_keys<S>(diagonal, query);
    for (std::int64_t s = 0; s < keys; ++s) {
      S* p = probability + s * tile_edge + query;
      S* d = d_score + s * tile_edge + query;
#pragma omp simd
      for (int i = 0; i < lane_count<S>; ++i) {
        p[i] = math::exp(p[i] - denominator[query + i]);
        d[i] = p[i] * (d[i] - delta[query + i]);
      }
    }
  }
};

template <class S, int D_fixed, class... Arrays>
void launch_backward(const AttentionShape& shape, const Arrays&... arrays) {
  if constexpr (scalar_lanes) {
    launch_device_backward<S, D_fixed>(shape, arrays...);
  } else {
    using Kernel = BackwardHead<S, D_fixed>;
    const std::int64_t tiles = (shape.T + tile_edge - 1) / tile_edge;
    const Launch launch =
        make_launch(shape.B * shape.H_kv, Kernel::scratch_count(shape.D) * std::int64_t{sizeof(S)});
    const S scale = S(1) / math::sqrt(static_cast<S>(shape.D));
    Kokkos::parallel_for("minigift::attention_backward", launch.policy,
                         Kernel{shape, arrays..., scale, tiles, launch.level});
  }
}

}  // namespace

template <class S>
void attention_backward(const AttentionShape& shape, const ConstMatrix<S>& q, const ConstMatrix<S>& k,
                        const ConstMatrix<S>& v, const ConstMatrix<S>& out, const ConstMatrix<S>& log_sum_exp,
                        const ConstMatrix<S>& d_out, const Matrix<S>& d_q, const Matrix<S>& d_k,
                        const Matrix<S>& d_v) {
  require_attention_shape(shape);
  const std::int64_t rows = shape.B * shape.T;
  require_extents("q", q, rows, shape.H * shape.D);
  require_extents("k", k, rows, shape.H_kv * shape.D);
  require_extents("v", v, rows, shape.H_kv * shape.D);
  require_extents("out", out, rows, shape.H * shape.D);
  require_extents("log_sum_exp", log_sum_exp, shape.B * shape.H, shape.T);
  require_extents("d_out", d_out, rows, shape.H * shape.D);
  require_extents("d_q", d_q, rows, shape.H * shape.D);
  require_extents("d_k", d_k, rows, shape.H_kv * shape.D);
  require_extents("d_v", d_v, rows, shape.H_kv * shape.D);
  if (rows == 0) return;
  if constexpr (std::is_same_v<S, float>) {
    if (shape.D == 32) return launch_backward<S, 32>(shape, q, k, v, out, log_sum_exp, d_out, d_q, d_k, d_v);
    if (shape.D == 64) return launch_backward<S, 64>(shape, q, k, v, out, log_sum_exp, d_out, d_q, d_k, d_v);
    if (shape.D == 128)
      return launch_backward<S, 128>(shape, q, k, v, out, log_sum_exp, d_out, d_q, d_k, d_v);
  }
  launch_backward<S, 0>(shape, q, k, v, out, log_sum_exp, d_out, d_q, d_k, d_v);
}

#define MINIGIFT_INSTANTIATE(S)                                                                            \
  template void attention_backward<S>(const AttentionShape&, const ConstMatrix<S>&, const ConstMatrix<S>&, \
                                      const ConstMatrix<S>&, const ConstMatrix<S>&, const ConstMatrix<S>&, \
                                      const ConstMatrix<S>&, const Matrix<S>&, const Matrix<S>&,           \
                                      const Matrix<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)

}  // namespace minigift
