#pragma once
// Attention's backward pass on a GPU, in three kernels without atomics: delta, then the gradients of keys and
// values by teams that own a tile of keys, then those of queries by teams that own a tile of queries. Each of
// the latter two forms P and dP again: 7 products of a pair of tiles instead of 5, the price of enough teams
// and of a fixed order of addition.

#include "kernels/device/memory.hpp"
#include "kernels/nn/attention_device.hpp"

namespace minigift::attention {

/// delta(b*H + h, t) = d_out[t].out[t] for head h. One team per row, one thread per head, its lanes over D.
template <class S>
struct DeviceDelta {
  AttentionShape shape;
  ConstMatrix<S> out, d_out;
  Matrix<S> delta;

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t row = team.league_rank();
    const std::int64_t sequence = row / shape.T, t = row % shape.T, D = shape.D;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, shape.H), [&](std::int64_t head) {
      S dot = S(0);
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, D),
          [&](std::int64_t d, S& sum) { sum += out(row, head * D + d) * d_out(row, head * D + d); }, dot);
      Kokkos::single(Kokkos::PerThread(team), [&]() { delta(sequence * shape.H + head, t) = dot; });
    });
  }
};

/// What both kernels read.
template <class S>
struct DeviceBackwardInput {
  AttentionShape shape;
  ConstMatrix<S> q, k, v, log_sum_exp, d_out, delta;
  S scale;
  int level;
};

/// The scratch of both kernels.
template <class S, int D_fixed>
struct DeviceBackwardTiles {
  using Tiles = DeviceTiles<S, D_fixed>;
  S *q, *d_out, *k, *v, *scores, *log_sum_exp, *delta;

  KOKKOS_FORCEINLINE_FUNCTION DeviceBackwardTiles(const TeamMember& team, int level, int D) {
    DeviceScratch<S> scratch(team, level, Tiles::scratch_count(D));
    const int tile = Tiles::edge * Tiles::stride(D);
    q = scratch.take(tile);
    d_out = scratch.take(tile);
    k = scratch.take(tile);
    v = scratch.take(tile);
    scores = scratch.take(Tiles::edge * Tiles::score_stride);
    log_sum_exp = scratch.take(Tiles::edge);
    delta = scratch.take(Tiles::edge);
  }

  /// Queries [first, first + edge) of one head with what belongs to them.
  KOKKOS_FORCEINLINE_FUNCTION void load_queries(const TeamMember& team, const DeviceBackwardInput<S>& in,
                                                std::int64_t sequence, std::int64_t head, std::int64_t first,
                                                int D) const {
    const int queries = rows_from(in.shape.T, first, Tiles::edge);
    const std::int64_t row = sequence * in.shape.T + first, stride = in.shape.H * D;
    load_rows<Tiles, S>(team, {&in.q(row, head * D), stride}, queries, D, q);
    load_rows<Tiles, S>(team, {&in.d_out(row, head * D), stride}, queries, D, d_out);
    const std::int64_t line = sequence * in.shape.H + head;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, Tiles::edge), [&](int t) {
      // exp(anything finite - infinity) = 0: queries beyond the end contribute nothing.
      log_sum_exp[t] =
          t < queries ? in.log_sum_exp(line, first + t) : Kokkos::Experimental::infinity<S>::value;
      delta[t] = t < queries ? in.delta(line, first + t) : S(0);
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_keys(const TeamMember& team, const DeviceBackwardInput<S>& in,
                                             std::int64_t sequence, std::int64_t kv_head, std::int64_t first,
                                             int D) const {
    const int keys = rows_from(in.shape.T, first, Tiles::edge);
    const std::int64_t row = sequence * in.shape.T + first, stride = in.shape.H_kv * D;
    load_rows<Tiles, S>(team, {&in.k(row, kv_head * D), stride}, keys, D, k);
    load_rows<Tiles, S>(team, {&in.v(row, kv_head * D), stride}, keys, D, v);
  }

  /// P(t,s) for the block at (t, s); zero for keys after the query.
  KOKKOS_FORCEINLINE_FUNCTION void probabilities(int t, int s, int D, S scale, bool diagonal,
                                                 S (&p)[Tiles::block_rows][Tiles::block_columns]) const {
    const int stride = Tiles::stride(D);
    multiply<Tiles, S>({q, stride, 1}, {k, 1, stride}, D, t, s, p);
    for (int i = 0; i < Tiles::block_rows; ++i)
      for (int j = 0; j < Tiles::block_columns; ++j)
        p[i][j] = diagonal && s + j > t + i ? S(0) : math::exp(scale * p[i][j] - log_sum_exp[t + i]);
  }

  /// scores <- scale P (dP - delta) for the block at (t, s).
  KOKKOS_FORCEINLINE_FUNCTION void store_d_score(
      int t, int s, int D, S scale, const S (&p)[Tiles::block_rows][Tiles::block_columns]) const {
    const int stride = Tiles::stride(D);
    S dp[Tiles::block_rows][Tiles::block_columns];
    multiply<Tiles, S>({d_out, stride, 1}, {v, 1, stride}, D, t, s, dp);
    for (int i = 0; i < Tiles::block_rows; ++i)
      for (int j = 0; j < Tiles::block_columns; ++j)
        scores[(t + i) * Tiles::score_stride + s + j] = scale * (p[i][j] * (dp[i][j] - delta[t + i]));
  }
};

/// One team per (sequence, key/value head, tile of keys): it walks the query heads of the group, and in each
/// the tiles of queries from the diagonal on.
template <class S, int D_fixed>
struct DeviceKeys {
  using Tiles = DeviceTiles<S, D_fixed>;
  DeviceBackwardInput<S> in;
  Matrix<S> d_k, d_v;

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    constexpr int edge = Tiles::edge, score_stride = Tiles::score_stride;
    const AttentionShape& shape = in.shape;
    const int D = D_fixed > 0 ? D_fixed : static_cast<int>(shape.D);
    const std::int64_t tiles = tiles_of<Tiles>(shape.T), league = team.league_rank();
    const std::int64_t key_tile = league % tiles;  // the longest columns first
    const std::int64_t kv_head = league / tiles % shape.H_kv, sequence = league / tiles / shape.H_kv;
    const std::int64_t group = shape.H / shape.H_kv, row = sequence * shape.T + key_tile * edge;
    const int keys = rows_from(shape.T, key_tile * edge, edge);
    const DeviceRows<S> to_k{&d_k(row, kv_head * D), shape.H_kv * D};
    const DeviceRows<S> to_v{&d_v(row, kv_head * D), shape.H_kv * D};
    const DeviceBackwardTiles<S, D_fixed> tile(team, in.level, D);
    tile.load_keys(team, in, sequence, kv_head, key_tile * edge, D);

    bool assign = true;
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (std::int64_t query_tile = key_tile; query_tile < tiles; ++query_tile) {
        const bool diagonal = query_tile == key_tile;
        tile.load_queries(team, in, sequence, head, query_tile * edge, D);
        team.team_barrier();
        for_blocks<Tiles>(team, edge, edge, [&](int t, int s) {
          S p[Tiles::block_rows][Tiles::block_columns];
          tile.probabilities(t, s, D, in.scale, diagonal, p);
          for (int i = 0; i < Tiles::block_rows; ++i)
            for (int j = 0; j < Tiles::block_columns; ++j)
              tile.scores[(t + i) * score_stride + s + j] = p[i][j];
        });
        team.team_barrier();
        add_to_rows<Tiles, S>(team, {tile.scores, 1, score_stride}, tile.d_out, keys, D, assign, to_v);
        team.team_barrier();
        for_blocks<Tiles>(team, edge, edge, [&](int t, int s) {
          S p[Tiles::block_rows][Tiles::block_columns];
          for (int i = 0; i < Tiles::block_rows; ++i)
            for (int j = 0; j < Tiles::block_columns; ++j)
              p[i][j] = tile.scores[(t + i) * score_stride + s + j];
          tile.store_d_score(t, s, D, in.scale, p);
        });
        team.team_barrier();
        add_to_rows<Tiles, S>(team, {tile.scores, 1, score_stride}, tile.q, keys, D, assign, to_k);
        team.team_barrier();  // before the next queries take the place of these
        assign = false;
      }
    }
  }
};

/// One team per (sequence, query head, tile of queries): it walks the tiles of keys up to the diagonal.
template <class S, int D_fixed>
struct DeviceQueries {
  using Tiles = DeviceTiles<S, D_fixed>;
  DeviceBackwardInput<S> in;
  Matrix<S> d_q;

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    constexpr int edge = Tiles::edge, score_stride = Tiles::score_stride;
    const AttentionShape& shape = in.shape;
    const int D = D_fixed > 0 ? D_fixed : static_cast<int>(shape.D);
    const std::int64_t tiles = tiles_of<Tiles>(shape.T), league = team.league_rank();
    const std::int64_t query_tile = tiles - 1 - league % tiles;  // the longest rows first
    const std::int64_t head = league / tiles % shape.H, sequence = league / tiles / shape.H;
    const std::int64_t kv_head = head / (shape.H / shape.H_kv);
    const std::int64_t first = query_tile * edge;
    const int queries = rows_from(shape.T, first, edge);
    const DeviceRows<S> to{&d_q(sequence * shape.T + first, head * D), shape.H * D};
    const DeviceBackwardTiles<S, D_fixed> tile(team, in.level, D);
    tile.load_queries(team, in, sequence, head, first, D);

    for (std::int64_t key_tile = 0; key_tile <= query_tile; ++key_tile) {
      const bool diagonal = key_tile == query_tile;
      tile.load_keys(team, in, sequence, kv_head, key_tile * edge, D);
      team.team_barrier();
      for_blocks<Tiles>(team, edge, edge, [&](int t, int s) {
        S p[Tiles::block_rows][Tiles::block_columns];
        tile.probabilities(t, s, D, in.scale, diagonal, p);
        tile.store_d_score(t, s, D, in.scale, p);
      });
      team.team_barrier();
      add_to_rows<Tiles, S>(team, {tile.scores, score_stride, 1}, tile.k, queries, D, key_tile == 0, to);
      team.team_barrier();  // before the next keys take the place of these
    }
  }
};

template <class S, int D_fixed>
void launch_device_backward(const AttentionShape& shape, const ConstMatrix<S>& q, const ConstMatrix<S>& k,
                            const ConstMatrix<S>& v, const ConstMatrix<S>& out,
                            const ConstMatrix<S>& log_sum_exp, const ConstMatrix<S>& d_out,
                            const Matrix<S>& d_q, const Matrix<S>& d_k, const Matrix<S>& d_v) {
  using Tiles = DeviceTiles<S, D_fixed>;
  const std::int64_t lines = shape.B * shape.H, tiles = tiles_of<Tiles>(shape.T);
  const Vector<S> memory = stream_scratch<S>("minigift::attention_delta", lines * shape.T);
  const Matrix<S> delta(memory.data(), static_cast<std::size_t>(lines), static_cast<std::size_t>(shape.T));
  Kokkos::parallel_for("minigift::attention_delta", make_row_launch(shape.B * shape.T),
                       DeviceDelta<S>{shape, out, d_out, delta});

  const std::int64_t bytes = Tiles::scratch_count(shape.D) * std::int64_t{sizeof(S)};
  const S scale = S(1) / math::sqrt(static_cast<S>(shape.D));
  const Launch keys = make_launch(shape.B * shape.H_kv * tiles, bytes);
  const DeviceBackwardInput<S> input{shape, q, k, v, log_sum_exp, d_out, delta, scale, keys.level};
  Kokkos::parallel_for("minigift::attention_backward_keys", keys.policy,
                       DeviceKeys<S, D_fixed>{input, d_k, d_v});
  Kokkos::parallel_for("minigift::attention_backward_queries", make_launch(lines * tiles, bytes).policy,
                       DeviceQueries<S, D_fixed>{input, d_q});
}

}  // namespace minigift::attention
