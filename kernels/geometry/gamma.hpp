#pragma once
// gamma(W, T): the factor by which coordinates T change the rounding error of a cast of W, in closed form.
//
// A floating-point cast of U = W T adds to each element an error of variance eps^2 U_ij^2, uncorrelated
// between elements as long as a column holds elements of differing size. Mapped back through T^{-1},
//     E||W' - W||_F^2 = eps^2 sum_j ||(W T)_:j||^2 ||(T^{-1})_j:||^2 = (eps gamma ||W||_F)^2.
// gamma = 1 without a transform, for every diagonal and every orthogonal T; below 1 the coordinates help. No
// T acting on the columns of W gets below gamma_lower_bound(W) = ||W||_* / (sqrt(d) ||W||_F)
// (Cauchy-Schwarz).

#include "kernels/geometry/dense.hpp"
#include "kernels/geometry/spectrum.hpp"
#include "kernels/geometry/whitening.hpp"
#include "kernels/view.hpp"

namespace minigift {

/// numerator = sum_j ||(W T)_:j||^2 ||(T^{-1})_j:||^2 and norm_squared = ||W||_F^2. Both are sums over the
/// rows of W, so that row slices on different ranks add.
struct GammaTerms {
  double numerator = 0;
  double norm_squared = 0;
};

/// sqrt(numerator / norm_squared); 1 for W = 0, where no coordinates help.
double gamma(const GammaTerms& terms);

/// T and T^{-1} given as dense matrices (d, d), whatever they are.
GammaTerms gamma_dense(const Matrix<const float>& w, const Matrix<const float>& transform,
                       const Matrix<const float>& inverse);
/// For callers that hold the transformed gradient u = S^T W T (m, d), ||W||_F^2, and the weights
/// ||(S^{-1})_i:||^2 (m) and ||(T^{-1})_j:||^2 (d) from inverse_row_norms: one pass over u. Weights of extent
/// 0 stand for a side without a transform.
GammaTerms gamma_transformed(const Matrix<const float>& u, double norm_squared_of_w,
                             const Vector<const double>& row_weights,
                             const Vector<const double>& column_weights);
/// A full, block or diagonal whitening of the input side.
GammaTerms gamma_input(const Matrix<const float>& w, const DenseWhitening& whitening);
/// From a spectrum, without forming T. 4 m d^2 flop. `workspace` is grown to 2 m d elements.
GammaTerms gamma_input(const Matrix<const float>& w, const SpectralWhitening& whitening,
                       Vector<float>& workspace);
/// Without any d x d matrix. 4 m d r flop.
/// `workspace` is grown to m (d + r) elements.
GammaTerms gamma_low_rank(const Matrix<const float>& w, const LowRankWhitening& whitening,
                          Vector<float>& workspace);
/// Input and output side together, U = S^T W T: sum_ij U_ij^2 ||(S^{-1})_i:||^2 ||(T^{-1})_j:||^2. The output
/// side alone is this with an input whitening that is the identity (identity_whitening).
GammaTerms gamma_two_sided(const Matrix<const float>& w, const DenseWhitening& output,
                           const DenseWhitening& input);
/// The same from two spectra. 4 m d (m + d) flop. `workspace` is grown to 2 m d elements.
GammaTerms gamma_two_sided(const Matrix<const float>& w, const SpectralWhitening& output,
                           const SpectralWhitening& input, Vector<float>& workspace);

/// ||W||_* / (sqrt(d) ||W||_F) for w (m, d), by the eigenvalues of the smaller Gram matrix in FP64. 1 /
/// sqrt(d) at the least, 1 at the most; 1 for W = 0.
double gamma_lower_bound(const Matrix<const float>& w);

}  // namespace minigift
