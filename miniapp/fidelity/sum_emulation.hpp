#pragma once
// The sum over N ranks of one tensor as one scheme forms it, in communication coordinates.

#include "kernels/format/format.hpp"
#include "kernels/view.hpp"
#include "miniapp/fidelity/summed_gradient.hpp"

namespace minigift {

/// Emulates the exchange of x (N, count), one row per rank, in FP8.
class SumEmulation {
 public:
  /// `x` is kept by reference and not changed. Per-rank maxima are taken here.
  SumEmulation(Format format, const Matrix<const float>& x);

  /// mean (count) <- the mean as rank `rank` decodes it. It depends on the rank with own scales only.
  void mean(SumScheme scheme, int rank, const Vector<float>& mean);
  /// How far the ranks' means are apart, max over ranks of ||mean_r - mean_0|| / ||mean_0||, after mean()
  /// with own scales: all decode one sum, so it is the largest |s_r / s_0 - 1|.
  double divergence() const;
  /// fp32 and bf16: codes without scale, added around the ring.
  void unscaled_mean(const Vector<float>& mean);

 private:
  Vector<const float> row(int rank) const;
  enum class Scales { shared, own, own_exact };
  /// codes_ row r <- cast of row r with the scale for max amax or amax_r and headroom: a power of two, or
  /// exact.
  void encode(Scales scales, float headroom);
  void add_around_ring();
  void add_in_pairs();
  void decode_sum(float scale, const Vector<float>& mean) const;
  void all_to_all(bool bf16_gather, const Vector<float>& mean);

  Format format_;
  Matrix<const float> x_;
  int ranks_;
  std::int64_t count_;
  std::vector<float> amax_;     // per rank
  std::vector<float> scales_;   // of the last encode, per rank
  Matrix<std::uint8_t> codes_;  // (N, count * bytes per code)
  Vector<std::uint8_t> sum_;    // (count * bytes per code)
};

}  // namespace minigift
