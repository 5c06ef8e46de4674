#pragma once
// Rotary position embedding (Su et al., arXiv:2104.09864) in the half-split layout of the Hugging Face Llama:
// in each head the pair (j, j + D/2), j < D/2, is turned by the angle t * theta^(-2j/D) at position t.
//
// A rotation: its transpose is its inverse, so the backward pass needs no saved state. FLOPs per element: 3.
// Bytes moved per element: 2*sizeof(S).

#include "kernels/nn/argument.hpp"

#include <cstdint>

namespace minigift {

/// Cosine and sine of every position and pair, both (T, D/2).
template <class S>
struct RopeTable {
  Matrix<S> cosine;
  Matrix<S> sine;
};

/// Angles are formed in double and rounded once. Throws RuntimeError when D is odd or not positive.
template <class S>
RopeTable<S> make_rope_table(std::int64_t T, std::int64_t D, double theta);

/// Turns x(B*T, heads*D) in place; row r is position r % T. T may be shorter than the table.
template <class S>
void rope_forward(const Matrix<S>& x, std::int64_t T, const RopeTable<std::type_identity_t<S>>& table);

/// The gradient by the input from the gradient by the output, in place: the opposite turn.
template <class S>
void rope_backward(const Matrix<S>& dx, std::int64_t T, const RopeTable<std::type_identity_t<S>>& table);

}  // namespace minigift
