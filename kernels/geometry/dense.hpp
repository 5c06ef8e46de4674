#pragma once
// Whitening from a dense second moment: the full matrix, its diagonal blocks, or its diagonal. For studies
// and for the K-FAC baseline: O(d^3) work and O(d^2) memory, against O(d^2 r) and O(d r) of whitening.hpp.
//
// With A = V diag(lambda) V^T and damping delta,
//     symmetric root:  T = V diag((lambda + delta)^-p) V^T,      T^{-1} = V diag((lambda + delta)^p) V^T;
//     Cholesky root:   T = L^{-T}, T^{-1} = L^T with A + delta I = L L^T  (p = 1/2 only; GIFT,
//     arXiv:2607.07494, Eq. 9).
// T is normalised to det T = 1: a cast with a scale is blind to the factor, and products of two sides stay in
// range. A block form uses the diagonal blocks of A of the given width (the last may be narrower), the
// diagonal form is the block form of width 1. The same object serves the output side (rows of W) with G =
// E[delta delta^T].

#include "kernels/geometry/whitening.hpp"
#include "kernels/view.hpp"

namespace minigift {

struct Spectrum;

enum class Root { symmetric, cholesky };

enum class Direction { forward, inverse };

/// Block-diagonal T and T^{-1}. Block i covers the indices from i b to min(d, (i + 1) b).
struct DenseWhitening {
  std::int64_t dimension = 0;  ///< d
  std::int64_t width = 0;      ///< b: d for the full form, 1 for the diagonal one
  Vector<float> transform;     ///< the blocks of T one after another, each row-major
  Vector<float> inverse;       ///< the same for T^{-1}
  bool is_identity = true;     ///< the moment was zero: T = I. Callers count this.

  std::int64_t block_count() const;
  std::int64_t block_width(std::int64_t block) const;
  /// Block i of T or T^{-1}, a view of the stored elements.
  Matrix<float> block(Direction direction, std::int64_t block) const;
};

/// The options' exponent, damping (relative to trace/d unless absolute) and condition cap apply; completion
/// does not. The cap raises the damping until sqrt((lambda_max + delta) / (lambda_min + delta)) is at most
/// the cap. Negative eigenvalues of A, which rounding leaves behind, are taken as zero. Throws RuntimeError
/// for a non-finite or non-symmetric A, or options out of range.
DenseWhitening make_full_whitening(const Matrix<const double>& a, const WhiteningOptions& options,
                                   Root root = Root::symmetric);
DenseWhitening make_block_whitening(const Matrix<const double>& a, std::int64_t width,
                                    const WhiteningOptions& options, Root root = Root::symmetric);
/// make_full_whitening with Root::cholesky for callers that have the eigenvalues of `a` (spectrum.hpp), which
/// the condition cap and the normalisation need; saves the eigendecomposition.
DenseWhitening make_cholesky_whitening(const Matrix<const double>& a, const Spectrum& spectrum,
                                       const WhiteningOptions& options);
/// T = I in the cheapest form.
DenseWhitening identity_whitening(std::int64_t d);
DenseWhitening make_diagonal_whitening(const Matrix<const double>& a, const WhiteningOptions& options);

/// Input side: w <- w T or w T^{-1}, w (m, d) in place. `workspace` is grown to 2 m b elements, m d for the
/// full form.
void apply_input(const Matrix<float>& w, const DenseWhitening& whitening, Direction direction,
                 Vector<float>& workspace);
/// Output side: w <- T^T w or T^{-T} w, w (d, n) in place, T made from the moment of the rows of w. (For the
/// symmetric root T^T = T; for Cholesky T^T = L^{-1}.) `workspace` is grown to b n elements. Both sides
/// together are one call of each, in either order.
void apply_output(const Matrix<float>& w, const DenseWhitening& whitening, Direction direction,
                  Vector<float>& workspace);

/// r(j) = ||(T^{-1})_j:||^2 (d): how much of the error of coordinate j comes back.
void inverse_row_norms(const DenseWhitening& whitening, const Vector<double>& norms);

/// A = X^T X / R in FP64 from x (R, d): the dense second moment of the rows of x.
Matrix<double> second_moment(const Matrix<const float>& x);

}  // namespace minigift
