#include "miniapp/model/layer.hpp"

#include "kernels/nn/attention.hpp"
#include "kernels/nn/linear.hpp"
#include "kernels/nn/rms_norm.hpp"
#include "kernels/nn/swiglu.hpp"
#include "kernels/slice.hpp"
#include "miniapp/model/region.hpp"

namespace minigift {

namespace {

using Registry = ParameterRegistry;

template <class S>
AttentionShape attention_shape(const LayerContext<S>& context) {
  return {.B = context.B,
          .T = context.T,
          .H = context.shape.heads,
          .H_kv = context.shape.kv_heads,
          .D = context.shape.head_width()};
}

template <class S, class In>
void attention_block_forward(const LayerContext<S>& context, std::int64_t layer,
                             const LayerWeights<S, In>& weights, const Matrix<const S>& x,
                             const LayerActivations<S, In>& a, const Workspace<S, In>& workspace,
                             const InputHook<S>& input_hook) {
  const Region region("attention");
  rms_norm_forward(x, weights.input_norm, static_cast<S>(context.shape.rms_epsilon), a.attention_input,
                   a.attention_inverse_rms);
  const Matrix<const In> z = a.attention_input;
  report_operand(input_hook, Registry::input_site(layer, attention_input), z);
  linear_forward<In>(z, weights.q, a.q);
  linear_forward<In>(z, weights.k, a.k);
  linear_forward<In>(z, weights.v, a.v);
  rope_forward(a.q, context.T, context.rope);
  rope_forward(a.k, context.T, context.rope);
  attention_forward(attention_shape(context), a.q, a.k, a.v, a.attention, a.log_sum_exp);
  const Matrix<const In> heads = as_operand(a.attention, flatten(a.output_input));
  report_operand(input_hook, Registry::input_site(layer, output_input), heads);
  linear_forward<In>(heads, weights.o, workspace.branch);
  residual_add(x, workspace.branch, a.middle);
}

template <class S, class In>
void mlp_block_forward(const LayerContext<S>& context, std::int64_t layer, LayerExtent extent,
                       const LayerWeights<S, In>& weights, const LayerActivations<S, In>& a,
                       const Workspace<S, In>& workspace, const Matrix<S>& y,
                       const InputHook<S>& input_hook) {
  const Region region("mlp");
  rms_norm_forward(a.middle, weights.post_attention_norm, static_cast<S>(context.shape.rms_epsilon),
                   a.mlp_input, a.mlp_inverse_rms);
  const Matrix<const In> z = a.mlp_input;
  report_operand(input_hook, Registry::input_site(layer, mlp_input), z);
  linear_forward<In>(z, weights.gate, a.gate);
  linear_forward<In>(z, weights.up, a.up);
  swiglu_forward<S>(a.gate, a.up, a.down_input);
  const Matrix<const In> product = a.down_input;
  report_operand(input_hook, Registry::input_site(layer, down_input), product);
  if (extent == LayerExtent::activations_only) return;
  linear_forward<In>(product, weights.down, workspace.branch);
  residual_add(a.middle, workspace.branch, y);
}

/// y = x w^T backwards: reports dy, adds to dw, reports it, and dx = beta*dx + dy w.
template <class S, class In>
void linear_backward(const Matrix<S>& dy, const Matrix<const In>& x, const Matrix<const In>& w,
                     const Matrix<S>& dw, S beta, const Matrix<S>& dx, const Vector<In>& scratch,
                     int parameter, const BackwardHooks<S>& hooks) {
  const Matrix<const In> operand = as_operand(dy, scratch);
  report_operand(hooks.output, parameter, operand);
  linear_backward_weight<In>(operand, x, dw);
  if (hooks.gradient) hooks.gradient(parameter);
  linear_backward_input<In>(operand, w, beta, dx);
}

template <class S, class In>
void mlp_block_backward(std::int64_t layer, const LayerWeights<S, In>& weights,
                        const LayerGradients<S>& gradients, const LayerActivations<S, In>& a,
                        const Workspace<S, In>& workspace, const BackwardHooks<S>& hooks) {
  const Region region("mlp");
  const Vector<In>& scratch = workspace.operand;
  const Matrix<S>& d_normed = workspace.branch;
  const Matrix<const In> z = a.mlp_input;
  linear_backward<S, In>(workspace.d_stream, a.down_input, weights.down, gradients.down, S(0),
                         workspace.d_down_input, scratch, Registry::index(layer, down_proj), hooks);
  swiglu_backward(a.gate, a.up, workspace.d_down_input, a.gate, a.up);
  linear_backward<S, In>(a.up, z, weights.up, gradients.up, S(0), d_normed, scratch,
                         Registry::index(layer, up_proj), hooks);
  linear_backward<S, In>(a.gate, z, weights.gate, gradients.gate, S(1), d_normed, scratch,
                         Registry::index(layer, gate_proj), hooks);
  rms_norm_backward(a.middle, weights.post_attention_norm, a.mlp_inverse_rms, d_normed, workspace.d_stream,
                    gradients.post_attention_norm);
  if (hooks.gradient) hooks.gradient(Registry::index(layer, post_attention_norm));
}

template <class S, class In>
void attention_block_backward(const LayerContext<S>& context, std::int64_t layer,
                              const LayerWeights<S, In>& weights, const LayerGradients<S>& gradients,
                              const Matrix<const S>& x, const LayerActivations<S, In>& a,
                              const Workspace<S, In>& workspace, const BackwardHooks<S>& hooks) {
  const Region region("attention");
  const Vector<In>& scratch = workspace.operand;
  const Matrix<S>& d_normed = workspace.branch;
  const Matrix<const In> z = a.attention_input;
  linear_backward<S, In>(workspace.d_stream, a.output_input, weights.o, gradients.o, S(0),
                         workspace.d_attention, scratch, Registry::index(layer, o_proj), hooks);
  attention_backward(attention_shape(context), a.q, a.k, a.v, a.attention, a.log_sum_exp,
                     workspace.d_attention, workspace.d_q, workspace.d_k, workspace.d_v);
  rope_backward(workspace.d_q, context.T, context.rope);
  rope_backward(workspace.d_k, context.T, context.rope);
  linear_backward<S, In>(workspace.d_v, z, weights.v, gradients.v, S(0), d_normed, scratch,
                         Registry::index(layer, v_proj), hooks);
  linear_backward<S, In>(workspace.d_k, z, weights.k, gradients.k, S(1), d_normed, scratch,
                         Registry::index(layer, k_proj), hooks);
  linear_backward<S, In>(workspace.d_q, z, weights.q, gradients.q, S(1), d_normed, scratch,
                         Registry::index(layer, q_proj), hooks);
  rms_norm_backward(x, weights.input_norm, a.attention_inverse_rms, d_normed, workspace.d_stream,
                    gradients.input_norm);
  if (hooks.gradient) hooks.gradient(Registry::index(layer, input_norm));
}

}  // namespace

template <class S, class In>
void layer_forward(const LayerContext<S>& context, std::int64_t layer, LayerExtent extent,
                   const LayerWeights<S, In>& weights, const Matrix<const S>& x,
                   const LayerActivations<S, In>& activations, const Workspace<S, In>& workspace,
                   const Matrix<S>& y, const InputHook<S>& input_hook) {
  attention_block_forward(context, layer, weights, x, activations, workspace, input_hook);
  mlp_block_forward(context, layer, extent, weights, activations, workspace, y, input_hook);
}

template <class S, class In>
void layer_backward(const LayerContext<S>& context, std::int64_t layer, const LayerWeights<S, In>& weights,
                    const LayerGradients<S>& gradients, const Matrix<const S>& x,
                    const LayerActivations<S, In>& activations, const Workspace<S, In>& workspace,
                    const BackwardHooks<S>& hooks) {
  mlp_block_backward(layer, weights, gradients, activations, workspace, hooks);
  attention_block_backward(context, layer, weights, gradients, x, activations, workspace, hooks);
}

#define MINIGIFT_INSTANTIATE(S, In)                                                                          \
  template void layer_forward(const LayerContext<S>&, std::int64_t, LayerExtent, const LayerWeights<S, In>&, \
                              const Matrix<const S>&, const LayerActivations<S, In>&,                        \
                              const Workspace<S, In>&, const Matrix<S>&, const InputHook<S>&);               \
  template void layer_backward(const LayerContext<S>&, std::int64_t, const LayerWeights<S, In>&,             \
                               const LayerGradients<S>&, const Matrix<const S>&,                             \
                               const LayerActivations<S, In>&, const Workspace<S, In>&,                      \
                               const BackwardHooks<S>&);
MINIGIFT_INSTANTIATE(float, float)
MINIGIFT_INSTANTIATE(float, bfloat16)
MINIGIFT_INSTANTIATE(double, double)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
