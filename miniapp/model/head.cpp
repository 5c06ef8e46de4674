#include "miniapp/model/head.hpp"

#include "kernels/device/stream.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/nn/cross_entropy.hpp"
#include "kernels/nn/linear.hpp"
#include "kernels/slice.hpp"
#include "miniapp/model/region.hpp"

#include <algorithm>

namespace minigift {

namespace {

/// Mean in double: R FP32 terms of similar size would lose log2(R) bits.
template <class S>
double mean(const Vector<S>& loss) {
  double sum = 0.0;
  Kokkos::parallel_reduce(
      "minigift::mean_loss", range(size(loss)),
      KOKKOS_LAMBDA(const std::int64_t r, double& partial) { partial += static_cast<double>(loss(r)); }, sum);
  return sum / static_cast<double>(size(loss));
}

/// Calls body(first row, number of rows) for each chunk.
template <class Body>
void for_each_chunk(std::int64_t R, std::int64_t chunk, const Body& body) {
  for (std::int64_t first = 0; first < R; first += chunk)
    body(first, std::min(chunk, R - first));
}

}  // namespace

template <class S, class In>
double head_forward_backward(const Matrix<const In>& w, const Vector<const std::int32_t>& targets,
                             S gradient_scale, const Workspace<S, In>& workspace, const Matrix<S>& dw) {
  const Region region("head");
  const std::int64_t R = extent(workspace.head_input, 0);
  const S row_scale = gradient_scale / static_cast<S>(R);
  for_each_chunk(R, extent(workspace.logits, 0), [&](std::int64_t first, std::int64_t rows) {
    const Matrix<const In> x = row_slice(workspace.head_input, first, rows);
    const Matrix<S> logits = row_slice(workspace.logits, 0, rows);
    linear_forward<In>(x, w, logits);
    cross_entropy(logits, slice(targets, first, rows), row_scale, slice(workspace.loss, first, rows));
    const Matrix<const In> d_logits = as_operand(logits, workspace.operand);
    linear_backward_weight<In>(d_logits, x, dw);
    linear_backward_input<In>(d_logits, w, S(0), row_slice(workspace.branch, first, rows));
  });
  return mean(workspace.loss);
}

template <class S, class In>
double head_loss(const Matrix<const In>& w, const Vector<const std::int32_t>& targets,
                 const Workspace<S, In>& workspace) {
  const Region region("head");
  const std::int64_t R = extent(workspace.head_input, 0);
  for_each_chunk(R, extent(workspace.logits, 0), [&](std::int64_t first, std::int64_t rows) {
    const Matrix<const In> x = row_slice(workspace.head_input, first, rows);
    const Matrix<S> logits = row_slice(workspace.logits, 0, rows);
    linear_forward<In>(x, w, logits);
    cross_entropy_loss(logits, slice(targets, first, rows), slice(workspace.loss, first, rows));
  });
  return mean(workspace.loss);
}

#define MINIGIFT_INSTANTIATE(S, In)                                                                    \
  template double head_forward_backward(const Matrix<const In>&, const Vector<const std::int32_t>&, S, \
                                        const Workspace<S, In>&, const Matrix<S>&);                    \
  template double head_loss(const Matrix<const In>&, const Vector<const std::int32_t>&,                \
                            const Workspace<S, In>&);
MINIGIFT_INSTANTIATE(float, float)
MINIGIFT_INSTANTIATE(float, bfloat16)
MINIGIFT_INSTANTIATE(double, double)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
