#pragma once
// The second moments of one linear layer with what is costly to compute from them, once: A of its inputs and
// G of its output gradients, their eigenpairs, and the sketch of A where a trace has no more than that.

#include "kernels/geometry/dense.hpp"
#include "kernels/geometry/sketch.hpp"
#include "kernels/geometry/spectrum.hpp"
#include "kernels/view.hpp"
#include "miniapp/fidelity/transform_catalog.hpp"

#include <memory>
#include <optional>
#include <string>

namespace minigift {

/// A dense second moment, FP64, (d, d), with its eigenpairs, which are found in FP32: recorded moments are
/// FP32 themselves, and half the time is saved. The catalogue's dampings are all at least 1e-3 of the mean
/// eigenvalue, where that changes gamma by some 1e-4 of itself (spectrum.hpp).
struct MomentGeometry {
  explicit MomentGeometry(const Matrix<const double>& moment);

  /// The Cholesky root, d^3 in FP64: kept until it is asked for with other options.
  const DenseWhitening& cholesky(const WhiteningOptions& options) const;

  Matrix<const double> moment;
  Spectrum spectrum;

 private:
  mutable WhiteningOptions cholesky_options_;
  mutable std::optional<DenseWhitening> cholesky_;
};

/// A sketch of A with the test matrix that made it.
struct SketchGeometry {
  Sketch sketch;
  Matrix<float> test_matrix;
};

/// Null where the trace holds nothing of the kind. Layers that read the same inputs share A.
struct LayerGeometry {
  std::shared_ptr<const MomentGeometry> input, output;
  std::shared_ptr<const SketchGeometry> sketch;
  /// Tokens of the mean that the gradient is of: an absolute damping of G is meant for the derivative of the
  /// mean loss, whose second moment is G / tokens^2.
  double tokens = 0;
};

/// Why this transform cannot be made from these moments; empty: it can.
std::string missing_moment(const TransformSpecification& specification, const LayerGeometry& geometry);

}  // namespace minigift
