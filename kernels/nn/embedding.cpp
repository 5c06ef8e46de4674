#include "kernels/nn/embedding.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/nn/indices.hpp"
#include "kernels/nn/row.hpp"
#include "kernels/slice.hpp"

namespace minigift {

template <class S>
void embedding_forward(const Vector<const std::int32_t>& tokens, const ConstMatrix<S>& table,
                       const Matrix<S>& out) {
  const std::int64_t R = size(tokens), C = extent(table, 1);
  require_shape("embedding_forward", "out", out, R, C);
  require_indices("token", tokens, extent(table, 0));
  Kokkos::parallel_for(
      "minigift::embedding_forward", row_policy(R, C), KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t r = team.league_rank();
        const std::int64_t token = tokens(r);
        row_for(team, C, [&](std::int64_t c) { out(r, c) = table(token, c); });
      });
}

namespace {

/// Host: a work item owns a slab of columns of the table and walks all rows in order.
template <class S>
void add_by_columns(const Vector<const std::int32_t>& tokens, const ConstMatrix<S>& d_out,
                    const Matrix<S>& d_table) {
  const std::int64_t R = size(tokens), C = extent(d_table, 1);
  constexpr std::int64_t line = 64 / std::int64_t{sizeof(S)};
  const std::int64_t threads = ExecutionSpace().concurrency();
  const std::int64_t slab = (C + threads * line - 1) / (threads * line) * line;
  const std::int64_t slabs = slab > 0 ? (C + slab - 1) / slab : 0;
  Kokkos::parallel_for(
      "minigift::embedding_backward", range(slabs), KOKKOS_LAMBDA(const std::int64_t s) {
        const std::int64_t begin = s * slab;
        const std::int64_t end = math::min(C, begin + slab);
        for (std::int64_t r = 0; r < R; ++r) {
          const std::int64_t token = tokens(r);
#pragma omp simd
          for (std::int64_t c = begin; c < end; ++c)
            d_table(token, c) += d_out(r, c);
        }
      });
}

/// GPU: the rows of one token form a chain in their order. A team takes some columns of one row and does
/// nothing unless the row begins a chain; then it walks the chain and adds to the table once. Reads and
/// writes R*C elements in whole lines. The chains are found by R^2 / 2 comparisons of tokens that lie in the
/// cache: 34 million for R = 8192, far less than the products of the model.
template <class S>
void add_by_chains(const Vector<const std::int32_t>& tokens, const ConstMatrix<S>& d_out,
                   const Matrix<S>& d_table) {
  const std::int64_t R = size(tokens), C = extent(d_table, 1);
  const Vector<std::int64_t> order = stream_scratch<std::int64_t>("minigift::embedding_chains", 2 * R);
  const Vector<std::int64_t> next = slice(order, 0, R);     // the next row of the same token, or R
  const Vector<std::int64_t> follows = slice(order, R, R);  // not 0: there is an earlier one
  fill(follows, std::int64_t{0});
  Kokkos::parallel_for(
      "minigift::embedding_chains", range(R), KOKKOS_LAMBDA(const std::int64_t r) {
        const std::int32_t token = tokens(r);
        std::int64_t s = r + 1;
        while (s < R && tokens(s) != token)
          ++s;
        next(r) = s;
        if (s < R) follows(s) = 1;  // a row is the next of one row at most
      });
  constexpr std::int64_t piece = 1024;
  const std::int64_t pieces = (C + piece - 1) / piece;
  Kokkos::parallel_for(
      "minigift::embedding_backward", row_policy(R * pieces, math::min(C, piece)),
      KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t row = team.league_rank() / pieces;
        if (follows(row) != 0) return;
        const std::int64_t begin = team.league_rank() % pieces * piece;
        const std::int64_t token = tokens(row);
        row_for(team, math::min(piece, C - begin), [&](std::int64_t i) {
          S sum = d_table(token, begin + i);
          for (std::int64_t r = row; r < R; r = next(r))
            sum += d_out(r, begin + i);
          d_table(token, begin + i) = sum;
        });
      });
}

}  // namespace

// In either form each entry of d_table receives its terms in the order of r.
template <class S>
void embedding_backward(const Vector<const std::int32_t>& tokens, const ConstMatrix<S>& d_out,
                        const Matrix<S>& d_table) {
  const std::int64_t R = size(tokens), C = extent(d_table, 1);
  require_shape("embedding_backward", "d_out", d_out, R, C);
  require_indices("token", tokens, extent(d_table, 0));
  if constexpr (scalar_lanes) {
    add_by_chains<S>(tokens, d_out, d_table);
  } else {
    add_by_columns<S>(tokens, d_out, d_table);
  }
}

#define MINIGIFT_INSTANTIATE(S)                                                                 \
  template void embedding_forward<S>(const Vector<const std::int32_t>&, const ConstMatrix<S>&,  \
                                     const Matrix<S>&);                                         \
  template void embedding_backward<S>(const Vector<const std::int32_t>&, const ConstMatrix<S>&, \
                                      const Matrix<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)

}  // namespace minigift
