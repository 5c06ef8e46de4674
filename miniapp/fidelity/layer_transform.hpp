#pragma once
// One change of coordinates of one layer's gradient, made ready to be applied: U = S W T and back.

#include "kernels/geometry/gamma.hpp"
#include "kernels/view.hpp"
#include "miniapp/fidelity/layer_geometry.hpp"
#include "miniapp/fidelity/transform_catalog.hpp"

namespace minigift {

/// Scratch of the transforms, kept between calls.
struct TransformWorkspace {
  Vector<float> products;
  Vector<float> projection;  ///< W V of the input spectrum, m d elements
};

/// A gradient with what several transforms of it share. One at a time may use a workspace.
class TransformInput {
 public:
  /// w (m, d) and geometry are kept by reference.
  TransformInput(const Matrix<const float>& w, const LayerGeometry& geometry, TransformWorkspace& workspace);

  const Matrix<const float>& gradient() const { return w_; }
  double norm_squared() const { return norm_squared_; }
  /// W V, V the eigenvectors of A, which must be there. 2 m d^2 flop at the first call.
  const Matrix<const float>& projected() const;

 private:
  Matrix<const float> w_;
  const LayerGeometry& geometry_;
  TransformWorkspace& workspace_;
  double norm_squared_;
  mutable Matrix<const float> projected_;
};

class LayerTransform {
 public:
  /// missing_moment() must be empty for the two.
  LayerTransform(const TransformSpecification& specification, const LayerGeometry& geometry);

  /// u (m, d) <- S W T, rotated where the specification says so.
  void forward(const TransformInput& input, const Matrix<float>& u, TransformWorkspace& workspace) const;
  /// u <- S^-1 U T^-1, in place.
  void inverse(const Matrix<float>& u, TransformWorkspace& workspace) const;
  /// gamma's terms of the gradient whose coordinates without rotation are u; NaN with a rotation, for which
  /// there is no closed form.
  GammaTerms gamma_terms(const TransformInput& input, const Matrix<const float>& u,
                         TransformWorkspace& workspace) const;
  /// A moment was zero: the coordinates are Euclidean after all.
  bool is_identity() const;

 private:
  TransformSpecification specification_;
  LowRankWhitening low_rank_;
  DenseWhitening dense_input_, dense_output_;  // blocks, diagonal, Cholesky
  SpectralWhitening input_, output_;           // full, symmetric
};

}  // namespace minigift
