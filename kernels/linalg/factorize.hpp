#pragma once
// Factorizations of small dense matrices through LAPACK, on a CUDA device through cuSOLVER. Instantiated for
// float and double.
//
// Each function checks that its input is finite before it starts and that the factors reproduce the input
// afterwards, because a library that returns "success" with wrong factors has been seen more than once
// (cupy#7611, jax#1628). A failure is a RuntimeError that names the operation and the size. In the
// memory of a CUDA device the work and the checks are done there, on the current stream, and the host waits
// for the scalars of the checks; for other devices it is done in host copies.

#include "kernels/view.hpp"

namespace minigift {

/// a (n, n), symmetric, becomes the matrix of eigenvectors, one per column; values (n) ascend: a = V
/// diag(values) V^T. Both triangles of `a` must be filled; the lower one is read by the solver. Checked:
/// max|A V - V diag| <= 100 sqrt(n) u ||A||_F and max|V^T V - I| <= 100 sqrt(n) u, u the roundoff of S. On a
/// host n is at most 32765, where the 32-bit workspace sizes of LAPACK end.
template <class S>
void symmetric_eigen(const Matrix<S>& a, const Vector<S>& values);

/// a (n, n), symmetric positive definite, becomes L, lower triangular with zeros above the diagonal: a = L
/// L^T. Both triangles of `a` must be filled. Checked: max|A - L L^T| <= 100 sqrt(n) u max(diag A). Throws
/// RuntimeError naming the order of the leading minor that is not positive definite.
template <class S>
void cholesky_lower(const Matrix<S>& a);

/// b (m, n) <- b L^{-T}, with l (n, n) lower triangular; what lies above its diagonal is not read.
/// Checked: |X L^T - B| <= 100 sqrt(n) u ||x_i|| ||l_j|| for every element (i, j) of the solution X.
/// Throws RuntimeError on a zero on the diagonal of l.
template <class S>
void solve_lower_transposed_right(const Matrix<const S>& l, const Matrix<S>& b);

/// a (m, n) with m >= n becomes Q (m, n) with orthonormal columns, r (n, n) the upper triangle: a = Q R.
/// Signs are fixed so that the diagonal of R is not negative, which makes Q unique for a matrix of full rank.
/// Columns beyond the rank of `a` are still orthonormal.
/// Checked: max|A - Q R| <= 100 sqrt(m) u ||A||_F and max|Q^T Q - I| <= 100 sqrt(m) u.
template <class S>
void thin_qr(const Matrix<S>& a, const Matrix<S>& r);

}  // namespace minigift
