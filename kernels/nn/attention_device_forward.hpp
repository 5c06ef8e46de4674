#pragma once
// Attention's forward pass on a GPU. FLOPs and results as in attention.hpp; bytes from memory or its cache
// per team: its queries once, the keys and values up to its diagonal once, its outputs once.

#include "kernels/nn/attention_device.hpp"

namespace minigift::attention {

/// One team per (sequence, query head, tile of queries); it walks the tiles of keys up to the diagonal with a
/// running maximum, denominator and unnormalised output.
template <class S, int D_fixed>
struct DeviceForward {
  using Tiles = DeviceTiles<S, D_fixed>;
  AttentionShape shape;
  ConstMatrix<S> q, k, v;
  Matrix<S> out, log_sum_exp;
  S scale;
  int level;

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    constexpr int edge = Tiles::edge;
    const int D = D_fixed > 0 ? D_fixed : static_cast<int>(shape.D);
    const int width = Tiles::width(D), stride = Tiles::stride(D);
    const std::int64_t tiles = tiles_of<Tiles>(shape.T), league = team.league_rank();
    const std::int64_t tile = tiles - 1 - league % tiles;  // the longest rows first
    const std::int64_t head = league / tiles % shape.H, sequence = league / tiles / shape.H;
    const std::int64_t kv_column = head / (shape.H / shape.H_kv) * D;
    const std::int64_t first = tile * edge, row = sequence * shape.T + first;
    const int queries = rows_from(shape.T, first, edge);

    DeviceScratch<S> scratch(team, level, Tiles::scratch_count(D));
    S* const q_tile = scratch.take(edge * stride);
    S* const k_tile = scratch.take(edge * stride);
    S* const v_tile = scratch.take(edge * stride);
    S* const sum = scratch.take(edge * stride);
    S* const scores = scratch.take(edge * Tiles::score_stride);
    S* const maximum = scratch.take(edge);
    S* const denominator = scratch.take(edge);
    S* const shrink = scratch.take(edge);

    load_rows<Tiles, S>(team, {&q(row, head * D), shape.H * D}, queries, D, q_tile);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, edge * stride), [&](int n) { sum[n] = S(0); });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, edge), [&](int t) {
      maximum[t] = -Kokkos::Experimental::infinity<S>::value;
      denominator[t] = S(0);
    });

    for (std::int64_t key_tile = 0; key_tile <= tile; ++key_tile) {
      const bool diagonal = key_tile == tile;
      const int keys = rows_from(shape.T, key_tile * edge, edge);
      const std::int64_t key_row = sequence * shape.T + key_tile * edge;
      team.team_barrier();  // the tiles of the round before have been read
      load_rows<Tiles, S>(team, {&k(key_row, kv_column), shape.H_kv * D}, keys, D, k_tile);
      load_rows<Tiles, S>(team, {&v(key_row, kv_column), shape.H_kv * D}, keys, D, v_tile);
      team.team_barrier();
      for_blocks<Tiles>(team, edge, edge, [&](int t, int s) {
        S block[Tiles::block_rows][Tiles::block_columns];
        multiply<Tiles, S>({q_tile, stride, 1}, {k_tile, 1, stride}, D, t, s, block);
        for (int i = 0; i < Tiles::block_rows; ++i)
          for (int j = 0; j < Tiles::block_columns; ++j)
            scores[(t + i) * Tiles::score_stride + s + j] =
                diagonal && s + j > t + i ? -Kokkos::Experimental::infinity<S>::value : scale * block[i][j];
      });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, edge), [&](int t) {
        update_softmax(scores + t * Tiles::score_stride, maximum[t], denominator[t], shrink[t]);
      });
      team.team_barrier();
      for_blocks<Tiles>(team, edge, width, [&](int t, int d) {
        S block[Tiles::block_rows][Tiles::block_columns];
        multiply<Tiles, S>({scores, Tiles::score_stride, 1}, {v_tile, stride, 1}, edge, t, d, block);
        for (int i = 0; i < Tiles::block_rows; ++i)
          for (int j = 0; j < Tiles::block_columns; ++j) {
            S& target = sum[(t + i) * stride + d + j];
            target = shrink[t + i] * target + block[i][j];
          }
      });
    }

    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, queries * D), [&](int n) {
      const int t = n / D, d = n % D;
      out(row + t, head * D + d) = sum[t * stride + d] / denominator[t];
    });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, queries), [&](int t) {
      log_sum_exp(sequence * shape.H + head, first + t) = maximum[t] + math::log(denominator[t]);
    });
  }

  /// Turns one query's scores into exponentials and brings its running softmax up to date.
  KOKKOS_FORCEINLINE_FUNCTION static void update_softmax(S* scores, S& maximum, S& denominator, S& shrink) {
    S largest = maximum;
    for (int s = 0; s < Tiles::edge; ++s)
      largest = math::max(scores[s], largest);
    S total = S(0);
    for (int s = 0; s < Tiles::edge; ++s) {
      scores[s] = math::exp(scores[s] - largest);
      total += scores[s];
    }
    shrink = math::exp(maximum - largest);
    denominator = shrink * denominator + total;
    maximum = largest;
  }
};

template <class S, int D_fixed>
void launch_device_forward(const AttentionShape& shape, const ConstMatrix<S>& q, const ConstMatrix<S>& k,
                           const ConstMatrix<S>& v, const Matrix<S>& out, const Matrix<S>& log_sum_exp) {
  using Tiles = DeviceTiles<S, D_fixed>;
  const Launch launch = make_launch(shape.B * shape.H * tiles_of<Tiles>(shape.T),
                                    Tiles::scratch_count(shape.D) * std::int64_t{sizeof(S)});
  const S scale = S(1) / math::sqrt(static_cast<S>(shape.D));
  Kokkos::parallel_for("minigift::attention_forward", launch.policy,
                       DeviceForward<S, D_fixed>{shape, q, k, v, out, log_sum_exp, scale, launch.level});
}

}  // namespace minigift::attention
