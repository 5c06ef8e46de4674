#pragma once
// The memory of the forward and backward passes, allocated once. S is the scalar of the model, In the type of
// the linear layers' operands: S itself, or bfloat16 with S = float.
//
// Letters: B batch, T sequence length, R = B*T rows, C hidden, H heads, D head width, F feed-forward, V
// vocabulary.

#include "kernels/view.hpp"
#include "miniapp/model/shape.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace minigift {

/// What one decoder layer's forward pass keeps for its backward pass, besides its input x (R,C).
template <class S, class In>
struct LayerActivations {
  Matrix<In> attention_input;       // (R,C) normalised x, operand of q, k, v
  Vector<S> attention_inverse_rms;  // (R)
  Matrix<S> q;                      // (R,H*D) after the rotary embedding
  Matrix<S> k;                      // (R,H_kv*D) after the rotary embedding
  Matrix<S> v;                      // (R,H_kv*D)
  Matrix<S> attention;              // (R,H*D) heads side by side
  Matrix<S> log_sum_exp;            // (B*H,T)
  Matrix<In> output_input;          // (R,C) attention as operand of o; `attention` itself when In is S
  Matrix<S> middle;                 // (R,C) residual stream between attention and MLP
  Matrix<In> mlp_input;             // (R,C) normalised middle, operand of gate, up
  Vector<S> mlp_inverse_rms;        // (R)
  Matrix<S> gate;                   // (R,F); backward overwrites it with its gradient
  Matrix<S> up;                     // (R,F); likewise
  Matrix<In> down_input;            // (R,F) silu(gate)*up, operand of down

  LayerActivations() = default;
  LayerActivations(const LlamaShape& shape, std::int64_t B, std::int64_t T);
  std::int64_t bytes() const;
};

/// Scratch shared by all layers and the head.
template <class S, class In>
struct Workspace {
  Matrix<S> d_stream;          // (R,C) gradient of the residual stream, from the last layer to the first
  Matrix<S> branch;            // (R,C) forward: a branch's output; backward: gradient of a normalised input
  Matrix<S> d_attention;       // (R,C)
  Matrix<S> d_q;               // (R,H*D)
  Matrix<S> d_k;               // (R,H_kv*D)
  Matrix<S> d_v;               // (R,H_kv*D)
  Matrix<S> d_down_input;      // (R,F)
  Vector<In> operand;          // room for one output gradient in operand type; empty when In is S
  Matrix<In> head_input;       // (R,C) operand of the head
  Vector<S> head_inverse_rms;  // (R)
  Matrix<S> logits;            // (chunk,V), chunk rows of the micro-batch at a time
  Vector<S> loss;              // (R)

  Workspace() = default;
  Workspace(const LlamaShape& shape, std::int64_t B, std::int64_t T, std::int64_t logits_bytes);
  std::int64_t bytes() const;
};

/// Rows of logits to hold at a time so that they take at most `logits_bytes`, at least one row: R divided
/// into equal chunks.
std::int64_t logits_chunk_rows(std::int64_t R, std::int64_t V, std::int64_t bytes_per_logit,
                               std::int64_t logits_bytes);

/// `x` as operand of a linear layer: x itself when In is S, else x rounded to bfloat16 into `scratch`. The
/// result is valid until scratch is used again.
template <class S, class In>
Matrix<const In> as_operand(const Matrix<S>& x, const Vector<In>& scratch);

}  // namespace minigift
