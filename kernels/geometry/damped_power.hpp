#pragma once
// How a whitening weighs the eigenvalues of a second moment: damping, condition cap and normalisation, for
// the dense and the spectral forms alike.

#include "kernels/geometry/whitening.hpp"

#include <vector>

namespace minigift::geometry {

/// t(lambda) = ((lambda + damping) / scale)^-p, where `scale` is the geometric mean of the damped spectrum,
/// so that the product of t over all d eigenvalues is 1. Eigenvalues below zero, which rounding leaves
/// behind, count as zero.
class DampedPower {
 public:
  /// `spectrum`: all d eigenvalues in any order, at least one of them above zero; `mean`: trace / d. The
  /// damping is what the options ask for, raised until sqrt((largest + damping) / (smallest + damping)) is at
  /// most the condition cap.
  DampedPower(const std::vector<double>& spectrum, double mean, const WhiteningOptions& options);

  double forward(double lambda) const;  ///< t(lambda)
  double inverse(double lambda) const;  ///< 1 / t(lambda)
  double damping() const { return damping_; }
  double scale() const;

 private:
  double damping_, mean_log_, exponent_;
};

}  // namespace minigift::geometry
