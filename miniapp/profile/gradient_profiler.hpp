#pragma once
// Profiles mean and local gradients of one layer, wherever they come from: a running training or a trace.

#include "miniapp/profile/layer_profile.hpp"

namespace minigift {

class GradientProfiler {
 public:
  /// `format`: e4m3 or e5m2, in which boundaries are counted and the gain is measured.
  explicit GradientProfiler(Format format);

  /// The format's power-of-two scale for the largest magnitude over all ranks, headroom 1.
  float scale(float amax) const;
  /// One rank's local gradient (elements), cast with the synchronised scale.
  void count(LayerProfile& profile, const Vector<const float>& gradient, float scale) const;
  /// The mean gradient w (m, d), with and without the coordinates that layers = "auto" would use (low rank
  /// 32, exponent 1/4). Throws UsageError where the geometry cannot give them.
  void measure(LayerProfile& profile, const Matrix<const float>& w, const LayerGeometry& geometry);

 private:
  Format format_;
  OneStepStudy study_;
};

}  // namespace minigift
