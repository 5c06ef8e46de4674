#pragma once
// All eigenpairs of a second moment, found once and shared by every transform that is made from them:
// low-rank factors of any rank (exact_factor), full whitenings of any exponent and damping (here), the
// Cholesky root (make_cholesky_whitening).
//
// The eigendecomposition costs O(d^3) in FP64 and dwarfs everything else a study does with a moment. A
// whitening made from it is d numbers: T = V diag(t) V^T is applied as two products with V and never formed.

#include "kernels/geometry/dense.hpp"
#include "kernels/geometry/whitening.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <vector>

namespace minigift {

/// A = V diag(values) V^T. Copies share V.
struct Spectrum {
  /// V (d, d), eigenvector i in column i: orthonormal to rounding of the solver, then rounded to FP32.
  Matrix<float> vectors;
  /// d, ascending, as the solver found them: rounding may leave some below zero.
  std::vector<double> values;
  double trace = 0;  ///< of A

  std::int64_t dimension() const { return static_cast<std::int64_t>(values.size()); }
};

/// What the eigensolver computes in. fp32 takes half the time. Its eigenvalues are wrong by about 1e-7
/// lambda_max, which changes gamma by some 1e-4 of itself at most as long as the relative damping is 1e-3 or
/// more (benchmarks/README.md). Not for dampings below that, nor where T shall equal that of
/// make_full_whitening to 1e-5.
enum class EigenPrecision { fp64, fp32 };

/// By symmetric_eigen, of the symmetric part of a (d, d). A zero moment gives V = I and zero eigenvalues.
/// Throws RuntimeError for a non-square, non-finite or non-symmetric matrix.
Spectrum spectrum_of(const Matrix<const double>& a, EigenPrecision precision = EigenPrecision::fp64);

/// T = V diag(forward) V^T and T^{-1} = V diag(inverse) V^T, with t = ((lambda + damping) / scale)^-p: the
/// transform of make_full_whitening with the symmetric root, by the same damping, cap and normalisation to
/// det T = 1.
struct SpectralWhitening {
  Matrix<float> vectors;    ///< V (d, d), shared with the Spectrum
  Vector<float> forward;    ///< t (d)
  Vector<float> inverse;    ///< 1 / t (d), from the rounded t
  bool is_identity = true;  ///< the moment was zero: T = I. Callers count this.

  std::int64_t dimension() const { return extent(vectors, 0); }
};

/// O(d). Completion does not apply. Throws RuntimeError for options out of range.
SpectralWhitening make_spectral_whitening(const Spectrum& spectrum, const WhiteningOptions& options);

/// Input side: w <- w T or w T^{-1}, w (m, d) in place. Two products in FP32, 4 m d^2 flop. `workspace` is
/// grown to m d elements. T^{-1} after T returns w up to a few u (max t / min t) of the size of its rows:
/// 1e-6 at a usual ratio of 10.
void apply_input(const Matrix<float>& w, const SpectralWhitening& whitening, Direction direction,
                 Vector<float>& workspace);
/// Output side: w <- T w or T^{-1} w, w (d, n) in place, T made from the moment of the rows of w. `workspace`
/// is grown to d n elements.
void apply_output(const Matrix<float>& w, const SpectralWhitening& whitening, Direction direction,
                  Vector<float>& workspace);

/// The same in two halves, for callers that apply several whitenings of one spectrum to one matrix: the first
/// half, z = w V (z (m, d)), is common to them; the second is to = (z diag(t or 1/t)) V^T. 2 m d^2 flop each.
/// `z` is left as it was; `workspace` is grown to m d elements.
void project_input(const Matrix<const float>& w, const Matrix<const float>& vectors, const Matrix<float>& z);
void apply_to_projection(const Matrix<const float>& z, const SpectralWhitening& whitening,
                         Direction direction, const Matrix<float>& to, Vector<float>& workspace);

/// r(j) = ||(T^{-1})_j:||^2 = sum_i V_ji^2 / t_i^2 (d). 2 d^2 flop, one pass over V.
void inverse_row_norms(const SpectralWhitening& whitening, const Vector<double>& norms);

}  // namespace minigift
