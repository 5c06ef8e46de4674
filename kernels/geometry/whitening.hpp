#pragma once
// Low-rank whitening: the invertible change of coordinates that a selected gradient takes before it is cast.
//
// The second moment is completed to a full-rank one by a multiple of the identity outside the leading
// directions:
//     A_s = U diag(lambda) U^T + sigma^2 (I - U U^T).
// The transform is its symmetric power, with the factor sigma^{-2p} dropped because a cast with a scale is
// blind to it:
//     T      = sigma^{2p} A_s^{-p}  = I + U diag(D) U^T,   D_i = (sigma^2 / lambda_i)^p - 1,
//     T^{-1} = sigma^{-2p} A_s^{p}  = I + U diag(E) U^T,   E_i = (lambda_i / sigma^2)^p - 1,
// so that (1 + D_i)(1 + E_i) = 1. Exponent p = 1/2 is the whitening of GIFT (arXiv:2607.07494, section IV); p
// = 1/4 whitens half as much, which is safer when A is noisy or old.

#include "kernels/geometry/factor.hpp"
#include "kernels/view.hpp"

namespace minigift {

/// What stands for the unknown spectrum outside the leading r directions.
enum class Completion {
  tail,  ///< its mean: (trace - sum lambda) / (d - r), at least 1e-4 trace / d
  edge,  ///< its largest possible value: lambda_r
  mean,  ///< the mean of the whole spectrum: trace / d
};

struct WhiteningOptions {
  double exponent = 0.25;  ///< p, in (0, 1]
  Completion completion = Completion::tail;
  double damping = 1e-3;  ///< added to every eigenvalue; in units of trace/d unless absolute
  bool absolute_damping = false;
  double condition_cap = 1e3;  ///< sigma is raised until sqrt(lambda_1 / sigma^2) is at most this
};

struct LowRankWhitening {
  Matrix<float> basis;    ///< U (d, r)
  Vector<float> forward;  ///< D (r), for T
  Vector<float> inverse;  ///< E (r), for T^{-1}
  bool is_identity =
      true;  ///< no usable factor (no activations, all zero): T = I, r = 0. Callers count this.
};

/// Throws RuntimeError naming the option that is out of range.
void check_whitening_options(const WhiteningOptions& options);

/// Throws RuntimeError if an option is out of range or an eigenvalue is not finite.
LowRankWhitening make_low_rank_whitening(const LowRankFactor& factor, const WhiteningOptions& options);

/// w <- w (I + U diag(gain) U^T), w (m, d) in place, gain = D or E (r). Two thin products, 4 m d r flop,
/// three passes over w. `workspace` is grown to m r elements as needed and kept by the caller. r = 0 leaves w
/// alone.
///
/// T^{-1} after T returns w up to rounding, a few u (1 + max E) of the size of its rows: 1e-6 at a usual
/// condition sqrt(lambda_1 / sigma^2) of 10, and 1e-4 at the cap of 1000.
void apply_low_rank(const Matrix<float>& w, const Matrix<const float>& basis, const Vector<const float>& gain,
                    Vector<float>& workspace);

/// r(j) = ||(T^{-1})_j:||^2 = 1 + sum_i (2 E_i + E_i^2) U_ji^2 (d): how much of the error of coordinate j
/// comes back.
void inverse_row_norms(const LowRankWhitening& whitening, const Vector<double>& norms);

}  // namespace minigift
