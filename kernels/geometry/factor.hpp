#pragma once
// The leading eigenpairs of a second moment, from its sketch or exactly.

#include "kernels/geometry/sketch.hpp"
#include "kernels/view.hpp"

#include <vector>

namespace minigift {

/// A rank-r approximation A ~ U diag(eigenvalues) U^T with what is needed to complete it: the trace and the
/// dimension. The rank may be smaller than asked for: directions without measurable energy are left out. Rank
/// 0 (basis (d, 0)) means that no token, or only zeros, were seen.
struct LowRankFactor {
  Matrix<float> basis;              ///< U (d, r), orthonormal columns to 1e-5
  std::vector<double> eigenvalues;  ///< r, descending, > 0
  double trace = 0;                 ///< of A: mean ||x||^2
  std::int64_t dimension = 0;       ///< d
};

/// Stabilised single-pass Nystroem of rank min(rank, k, d), in FP64 from the FP32 sketch:
///     nu = sqrt(d) u ||Y||_F,   Y_nu = Y + nu Omega,   B = sym(Omega^T Y_nu) = C C^T,   F = Y_nu C^{-T} = U
///     S V^T, lambda = max(S^2 - nu, 0),
/// with Y divided by the number of tokens and u the FP32 roundoff. Each eigenvector's component of largest
/// magnitude is positive. A function of the sketch's bits alone: ranks that hold the same sketch get the same
/// factor. Throws RuntimeError for a non-finite sketch, and if ||U^T U - I||_max > 1e-5 after rounding U to
/// FP32.
LowRankFactor nystrom_factor(const Sketch& sketch, const Matrix<const float>& omega, std::int64_t rank);

struct Spectrum;

/// The same from all eigenpairs of A (spectrum.hpp): of rank min(rank, d), or fewer where eigenvalues are
/// zero to rounding.
LowRankFactor exact_factor(const Spectrum& spectrum, std::int64_t rank);
/// From a dense symmetric A (d, d), by an eigendecomposition of its own: O(d^3), for studies and tests.
LowRankFactor exact_factor(const Matrix<const double>& a, std::int64_t rank);

}  // namespace minigift
