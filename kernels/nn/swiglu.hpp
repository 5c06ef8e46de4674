#pragma once
// SwiGLU (Shazeer, arXiv:2002.05202): out = silu(gate) * up, silu(g) = g / (1 + exp(-g)).
//
// State kept for the backward pass: gate and up (R,F). Bytes moved per element: forward 2*sizeof(S) +
// sizeof(Y), backward 5*sizeof(S). About 20 FLOPs per element forward, most of them the exponential.

#include "kernels/nn/argument.hpp"

#include <type_traits>

namespace minigift {

/// out(R,F) = silu(gate(R,F)) * up(R,F). Y is S, or bfloat16 with S = float (rounded to nearest even as it is
/// stored). S is written at the call, Y is deduced:  swiglu_forward<float>(gate, up, out).
template <class S, class Y>
void swiglu_forward(const Matrix<const S>& gate, const Matrix<const S>& up, const Matrix<Y>& out);

/// d_gate and d_up (R,F) are assigned the gradients for d_out(R,F). d_gate may be gate, d_up may be up, and
/// either may be d_out: each element is read before it is written.
template <class S>
void swiglu_backward(const ConstMatrix<S>& gate, const ConstMatrix<S>& up, const ConstMatrix<S>& d_out,
                     const Matrix<S>& d_gate, const Matrix<S>& d_up);

}  // namespace minigift
