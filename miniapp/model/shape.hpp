#pragma once
// The size of a Llama: nine numbers from which everything else follows.

#include <cstdint>

namespace minigift {

/// Shape of a Llama decoder (Touvron et al. 2023) with an untied head and grouped-query attention. All
/// members are deck keys of the section [model], under the same names.
struct LlamaShape {
  std::int64_t layers = 0;        // decoder layers
  std::int64_t hidden = 0;        // C
  std::int64_t heads = 0;         // H query heads
  std::int64_t kv_heads = 0;      // H_kv key/value heads; equal to `heads` for plain multi-head attention
  std::int64_t feed_forward = 0;  // F
  std::int64_t vocabulary = 0;    // V
  double rope_theta = 10000.0;    // base of the rotary frequencies
  double rms_epsilon = 1e-5;      // added to mean(x^2)
  double init_std = 0.02;         // standard deviation of the initial weights

  std::int64_t head_width() const { return hidden / heads; }         // D
  std::int64_t kv_width() const { return kv_heads * head_width(); }  // H_kv*D, rows of k_proj and v_proj

  /// Throws UsageError naming the keys that do not fit together (hidden and heads, heads and kv_heads, an odd
  /// head width, a size that is not positive).
  void check() const;

  /// Exact number of parameters: 2VC + C + L(2C^2 + 2C*H_kv*D + 3CF + 2C).
  std::int64_t parameter_count() const;

  /// Floating-point operations of the forward pass for one token of a sequence of length T, multiply and add
  /// counted separately. Matrix products: 2 per weight of every linear layer, head included. Attention: a
  /// query at position t meets t+1 keys, (T+1)/2 on average, and needs 2D for the score and 2D for the
  /// weighted sum per key and head. Norms, rotary embedding, softmax and SwiGLU are not counted. Backward
  /// costs twice this.
  double forward_flops_per_token(std::int64_t T) const;
};

}  // namespace minigift
