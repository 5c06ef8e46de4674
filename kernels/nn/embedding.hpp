#pragma once
// Token embedding: out[r] = table[tokens[r]].
//
// State kept for the backward pass: none (the tokens). Bytes moved: forward 2*R*C*sizeof(S), backward
// 3*R*C*sizeof(S).

#include "kernels/nn/argument.hpp"

#include <cstdint>

namespace minigift {

/// out(R,C) = rows of table(V,C) chosen by tokens(R).
/// Throws RuntimeError naming the first row whose token lies outside [0, V).
template <class S>
void embedding_forward(const Vector<const std::int32_t>& tokens, const ConstMatrix<S>& table,
                       const Matrix<S>& out);

/// d_table(V,C) += sum over the rows r with tokens[r] == v of d_out(R,C)[r], always added in the order of r,
/// so that the result does not depend on the number of threads. Throws as the forward pass does.
template <class S>
void embedding_backward(const Vector<const std::int32_t>& tokens, const ConstMatrix<S>& d_out,
                        const Matrix<S>& d_table);

}  // namespace minigift
