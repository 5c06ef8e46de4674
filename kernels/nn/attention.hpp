#pragma once
// Causal self-attention with grouped key/value heads (Ainslie et al., arXiv:2305.13245), computed by tiles
// with a running softmax (Dao, "FlashAttention-2", arXiv:2307.08691): no more than one tile x tile square of
// scores exists per team.
//
//   out[t] = sum_{s <= t} softmax_s( q[t].k[s] / sqrt(D) ) v[s],   query head h reads key/value head h /
//   (H/H_kv).
//
// State kept for the backward pass: q, k, v, out and log_sum_exp. FLOPs, counting only pairs s <= t:
// forward 2*T*(T+1)*D per head and sequence, backward 2.5 times that. Deterministic, without atomics; the
// query heads that share a key/value head add to its gradient in the order of h.
//
// A non-finite value in a row reaches that row and the later ones; through 0*inf inside a block it may also
// reach a few rows just before it. It is never hidden.

#include "kernels/nn/argument.hpp"

#include <cstdint>

namespace minigift {

/// H query heads share H_kv key/value heads (H a multiple of H_kv), each D wide; any D >= 1 and T >= 1 will
/// do.
struct AttentionShape {
  std::int64_t B;
  std::int64_t T;
  std::int64_t H;
  std::int64_t H_kv;
  std::int64_t D;
};

/// q(B*T, H*D), k and v (B*T, H_kv*D), out(B*T, H*D), log_sum_exp(B*H, T): the logarithm of the softmax
/// denominator. Throws RuntimeError when an extent disagrees with the shape or H is not a multiple of H_kv.
template <class S>
void attention_forward(const AttentionShape& shape, const ConstMatrix<S>& q, const ConstMatrix<S>& k,
                       const ConstMatrix<S>& v, const Matrix<S>& out, const Matrix<S>& log_sum_exp);

/// d_q, d_k, d_v (shapes of q, k, v) are assigned the gradients for d_out(B*T, H*D). They must not alias the
/// inputs.
template <class S>
void attention_backward(const AttentionShape& shape, const ConstMatrix<S>& q, const ConstMatrix<S>& k,
                        const ConstMatrix<S>& v, const ConstMatrix<S>& out, const ConstMatrix<S>& log_sum_exp,
                        const ConstMatrix<S>& d_out, const Matrix<S>& d_q, const Matrix<S>& d_k,
                        const Matrix<S>& d_v);

}  // namespace minigift
