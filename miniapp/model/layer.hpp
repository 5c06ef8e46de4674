#pragma once
// One decoder layer, forward and backward:
//
//   z      = RMSNorm(x; input_norm)                        attention_input
//   q,k,v  = rope(z Wq^T), rope(z Wk^T), z Wv^T
//   middle = x + Attention(q,k,v) Wo^T
//   z'     = RMSNorm(middle; post_attention_norm)          mlp_input
//   y      = middle + ( silu(z' Wg^T) * (z' Wu^T) ) Wd^T   down_input in parentheses
//
// In backward, weight gradients accumulate (+=); gradients of activations are assigned, except that of the
// residual stream, d_stream, which enters as the gradient by y and leaves as the gradient by x.

#include "kernels/nn/rope.hpp"
#include "kernels/view.hpp"
#include "miniapp/model/llama.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/model/workspace.hpp"

namespace minigift {

/// Read-only weights of a layer: norms in the model's scalar, matrices as operands. Shapes as in the
/// registry.
template <class S, class In>
struct LayerWeights {
  Vector<const S> input_norm, post_attention_norm;
  Matrix<const In> q, k, v, o, gate, up, down;
};

template <class S>
struct LayerGradients {
  Vector<S> input_norm, post_attention_norm;
  Matrix<S> q, k, v, o, gate, up, down;
};

/// What every layer of a model has in common.
template <class S>
struct LayerContext {
  LlamaShape shape;
  std::int64_t B, T;
  RopeTable<S> rope;
};

/// How much of a layer to compute: everything, or only what backward needs of it (all but its output).
enum class LayerExtent { whole, activations_only };

/// Fills `activations` and, for LayerExtent::whole, y (R,C) from x (R,C). Uses workspace.branch and
/// workspace.operand.
template <class S, class In>
void layer_forward(const LayerContext<S>& context, std::int64_t layer, LayerExtent extent,
                   const LayerWeights<S, In>& weights, const Matrix<const S>& x,
                   const LayerActivations<S, In>& activations, const Workspace<S, In>& workspace,
                   const Matrix<S>& y, const InputHook<S>& input_hook);

/// Who looks on in backward.
template <class S>
struct BackwardHooks {
  const GradientHook& gradient;
  const OutputHook<S>& output;
};

/// Turns workspace.d_stream from the gradient by y into the gradient by x and adds to `gradients`. Overwrites
/// activations.gate and activations.up. Calls the hooks for the layer's parameters from the last to the
/// first.
template <class S, class In>
void layer_backward(const LayerContext<S>& context, std::int64_t layer, const LayerWeights<S, In>& weights,
                    const LayerGradients<S>& gradients, const Matrix<const S>& x,
                    const LayerActivations<S, In>& activations, const Workspace<S, In>& workspace,
                    const BackwardHooks<S>& hooks);

/// Calls the member of the hook that fits the operand type, if there is one.
template <class S, class In>
void report_operand(const OperandHook<S>& hook, int index, const Matrix<const In>& operand) {
  if constexpr (std::is_same_v<S, In>) {
    if (hook.full) hook.full(index, operand);
  } else {
    if (hook.bf16) hook.bf16(index, operand);
  }
}

}  // namespace minigift
