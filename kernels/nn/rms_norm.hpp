#pragma once
// Root-mean-square normalisation (Zhang and Sennrich, arXiv:1910.07467) and the residual sum that surrounds
// it.
//
// State kept for the backward pass: x (R,C) and inverse_rms (R). FLOPs per element: forward 4, backward 9.
// Bytes moved per element: forward sizeof(S) + sizeof(Y), backward 4*sizeof(S).

#include "kernels/nn/argument.hpp"

namespace minigift {

/// y(R,C) = w(C) * x(R,C) * inverse_rms(R), with inverse_rms = 1/sqrt(mean(x^2) + epsilon) stored for the
/// backward pass. Y is S, or bfloat16 with S = float: the result in S is then rounded to nearest even as it
/// is stored.
template <class S, class Y>
void rms_norm_forward(const ConstMatrix<S>& x, const ConstVector<S>& w, std::type_identity_t<S> epsilon,
                      const Matrix<Y>& y, const Vector<S>& inverse_rms);

/// dx(R,C) += gradient by x and dw(C) += gradient by w, for dy(R,C) the gradient by y. dw is summed over
/// fixed blocks of rows and then over the blocks in order: the same bits for any number of threads.
template <class S>
void rms_norm_backward(const ConstMatrix<S>& x, const ConstVector<S>& w, const ConstVector<S>& inverse_rms,
                       const ConstMatrix<S>& dy, const Matrix<S>& dx, const Vector<S>& dw);

/// sum(R,C) = a(R,C) + b(R,C). `sum` may be a or b itself.
template <class S>
void residual_add(const ConstMatrix<S>& a, const ConstMatrix<S>& b, const Matrix<S>& sum);

}  // namespace minigift
