#pragma once
// Linear layer without bias: y = x w^T, with the weight stored (C_out, C_in) as in Hugging Face checkpoints.
//
// Each function is one matrix product of 2*R*C_in*C_out FLOPs. (In, S) is one of (float, float), (double,
// double) and (bfloat16, float); with bfloat16 operands the products are exact and the sums are kept in FP32.
// `In` is written at the call, `S` is deduced:  linear_forward<float>(x, w, y).
// State kept for the backward pass: x (R, C_in).

#include "kernels/nn/argument.hpp"

namespace minigift {

/// y(R,C_out) = x(R,C_in) w(C_out,C_in)^T.
template <class In, class S>
void linear_forward(const Matrix<const In>& x, const Matrix<const In>& w, const Matrix<S>& y);

/// dx(R,C_in) = beta*dx + dy(R,C_out) w(C_out,C_in). With beta = 0 the old content of dx is not read.
template <class In, class S>
void linear_backward_input(const Matrix<const In>& dy, const Matrix<const In>& w,
                           std::type_identity_t<S> beta, const Matrix<S>& dx);

/// dw(C_out,C_in) += dy(R,C_out)^T x(R,C_in).
template <class In, class S>
void linear_backward_weight(const Matrix<const In>& dy, const Matrix<const In>& x, const Matrix<S>& dw);

}  // namespace minigift
