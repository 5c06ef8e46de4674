#include "kernels/nn/embedding.hpp"

#include "kernels/device/stream.hpp"
#include "kernels/nn/indices.hpp"
#include "kernels/nn/row.hpp"

namespace minigift {

template <class S>
void embedding_forward(const Vector<const std::int32_t>& tokens, const ConstMatrix<S>& table,
                       const Matrix<S>& out) {
  const std::int64_t R = size(tokens), C = extent(table, 1);
  require_shape("embedding_forward", "out", out, R, C);
  require_indices("token", tokens, extent(table, 0));
  Kokkos::parallel_for(
      "minigift::embedding_forward", row_policy(R), KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t r = team.league_rank();
        const std::int64_t token = tokens(r);
        row_for(team, C, [&](std::int64_t c) { out(r, c) = table(token, c); });
      });
}

// A work item owns some columns of the table and walks all rows in order: whatever the columns it owns, each
// entry of d_table receives its terms in the order of r. A host thread takes a wide slab, a GPU thread one
// column.
template <class S>
void embedding_backward(const Vector<const std::int32_t>& tokens, const ConstMatrix<S>& d_out,
                        const Matrix<S>& d_table) {
  const std::int64_t R = size(tokens), C = extent(d_table, 1);
  require_shape("embedding_backward", "d_out", d_out, R, C);
  require_indices("token", tokens, extent(d_table, 0));
  std::int64_t slab = 1;
  if (!scalar_lanes) {
    constexpr std::int64_t line = 64 / std::int64_t{sizeof(S)};
    const std::int64_t threads = ExecutionSpace().concurrency();
    slab = (C + threads * line - 1) / (threads * line) * line;
  }
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

#define MINIGIFT_INSTANTIATE(S)                                                                 \
  template void embedding_forward<S>(const Vector<const std::int32_t>&, const ConstMatrix<S>&,  \
                                     const Matrix<S>&);                                         \
  template void embedding_backward<S>(const Vector<const std::int32_t>&, const ConstMatrix<S>&, \
                                      const Matrix<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)

}  // namespace minigift
