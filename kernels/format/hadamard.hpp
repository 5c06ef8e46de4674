#pragma once
// Randomised Hadamard rotations of the columns of a matrix: orthogonal, cheap, known from a seed alone.
//
// A rotation alone does not change the relative error of a floating-point cast. It evens out what a shared
// scale sees, so that integer formats gain: one large column of w (m, d) is spread over all. After a
// whitening it also evens out the columns' own error (gamma.hpp). "HDHD" has two passes: after a single one
// all entries of a row whose energy lies in one column have the same magnitude, and then their roundings are
// correlated.
//
// With d = q 2^k, q odd:      R = D_1 B   or   R = D_1 B D_2 P^T B P
//   B    block-diagonal, q times the Walsh-Hadamard matrix of order 2^k in natural order,
//        H_ij = (-1)^(number of ones in i & j), divided by 2^(k/2)
//   D    random signs, from Philox
//   P    takes column r 2^k + c to place c q + r, so that the second pass mixes the q blocks of the first:
//        where 2^k >= q, one column reaches all others

#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// R, as its signs. Copies share the memory.
struct Hadamard {
  std::int64_t dimension = 0;  ///< d
  std::int64_t width = 0;      ///< 2^k
  int passes = 0;              ///< 1 or 2
  Vector<float> signs;         ///< pass * d + column: +-2^(-k/2)
};

/// A function of (d, seed, passes) alone. Throws RuntimeError for an odd or non-positive d, which has no
/// Hadamard matrix, and for passes other than 1 and 2.
Hadamard make_hadamard(std::int64_t d, std::uint64_t seed, int passes = 2);

/// w <- w R, w (m, d) in place, each row while it is in the cache: 8 bytes moved and passes * (k + 1) flop
/// per element. Enqueued on the current stream. Throws RuntimeError if the columns of w do not fit.
void apply_hadamard(const Matrix<float>& w, const Hadamard& hadamard);

/// w <- w R^T, the inverse: what apply_hadamard made returns to within a few roundings of the row's norm (the
/// factors 2^(-k/2) are rounded for odd k). R on the rows of w is apply_hadamard on its transpose.
void apply_inverse_hadamard(const Matrix<float>& w, const Hadamard& hadamard);

}  // namespace minigift
