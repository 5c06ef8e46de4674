#pragma once
// A streaming sketch of the second moment A = E[x x^T] of a layer's inputs, without forming the d x d matrix.
//
// For a fixed test matrix Omega (d, k) with orthonormal columns, every micro-batch X (R, d) adds X^T (X
// Omega) to Y and
// ||X||_F^2 to the trace. Both are sums over tokens, so that sketches of several ranks or micro-batches
// simply add. factor.hpp turns the sketch into the leading eigenpairs (Nystroem's method; Tropp, Yurtsever,
// Udell, Cevher, "Fixed- rank approximation of a positive-semidefinite matrix from streaming data", NIPS
// 2017).

#include "kernels/format/bfloat16.hpp"
#include "kernels/view.hpp"

namespace minigift {

/// All additive over micro-batches and ranks: an all-reduce SUM of `y` and `trace_count` gives the sketch of
/// all tokens.
struct Sketch {
  Matrix<float> y;             ///< (d, k): sum of x (x^T Omega)
  Vector<double> trace_count;  ///< (2): sum of ||x||^2, number of tokens
};

/// A sketch of no tokens for a test matrix of shape (d, k).
Sketch make_sketch(std::int64_t d, std::int64_t k);

/// Forgets all tokens; keeps the memory.
void sketch_reset(Sketch& sketch);

/// (d, k), a Gaussian matrix with orthonormalised columns, its elements then rounded to bfloat16: a function
/// of (d, k, seed) alone, identical on all ranks. The rounding makes products with bfloat16 inputs exact;
/// Nystroem's method asks only that Omega be the same in the sketch and in the factorization, not that it be
/// orthonormal to the last bit. Throws RuntimeError unless 1 <= k <= d.
Matrix<float> sketch_test_matrix(std::int64_t d, std::int64_t k, std::uint64_t seed);

/// A test matrix for the next window from this one's sketch: the columns of Y orthonormalised and rounded to
/// bfloat16, one step of subspace iteration for free. It finds the leading space better than a random one,
/// which matters where the spectrum falls slowly: a factor for exponent 1/4 on a nearly flat tail was 8 %
/// worse than the exact one with a random matrix, 0.1 % with a warm one. A function of the sketch's bits
/// alone. Returns `omega` orthonormalised anew where the sketch is empty. Throws RuntimeError for a
/// non-finite sketch.
Matrix<float> sketch_warm_test_matrix(const Sketch& sketch, const Matrix<const float>& omega);

/// Memory kept between calls, so that a training step allocates nothing.
struct SketchWorkspace {
  Vector<float> projection;  ///< X Omega, R k elements
  Vector<bfloat16> narrow;   ///< Omega and X Omega in bfloat16, (d + R) k elements; for bfloat16 inputs only
};

/// Adds the tokens of x (R, d) to the sketch: 4 R d k flop in two products, and one pass over x for the
/// trace. With bfloat16 inputs the intermediate X Omega is rounded to bfloat16, an error that averages out
/// over tokens.
template <class In>
void sketch_accumulate(const Matrix<const In>& x, const Matrix<const float>& omega, Sketch& sketch,
                       SketchWorkspace& workspace);
/// The same with a workspace of its own.
template <class In>
void sketch_accumulate(const Matrix<const In>& x, const Matrix<const float>& omega, Sketch& sketch);

}  // namespace minigift
