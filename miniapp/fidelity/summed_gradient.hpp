#pragma once
// The error of the gradient that the optimizer gets: the mean over N ranks, for every way to add codes and to
// choose scales, against the FP64 mean of the same local gradients. GIFT (arXiv:2607.07494) reports the round
// trip of one gradient only; adding codes costs more than casting them.
//
// Here the N ranks are one process: what each would send is computed one after the other, by the kernels of
// the exchange and in its order of additions (miniapp/transport/communicator.hpp). Scales are per tensor.

#include "kernels/linalg/comparison.hpp"
#include "miniapp/fidelity/layer_transform.hpp"
#include "miniapp/fidelity/one_step.hpp"

#include <string>
#include <vector>

namespace minigift {

/// How codes of N ranks become one sum.
enum class SumScheme {
  ring_synced,        ///< one scale for all, codes added hop by hop around a ring, headroom N
  ring_no_headroom,   ///< the same with headroom 1: sums saturate where ranks agree
  tree_synced,        ///< one scale for all, codes added in pairs, headroom N
  ring_local,         ///< Algorithm 1 as printed: each rank casts and decodes with a scale of its own
  ring_local_exact,   ///< the same with scales amax N / max_finite instead of powers of two, which hide part
                      ///< of it
  ring_local_synced,  ///< its scale synchronisation step: cast with the own scale, decoded with the largest
  all_to_all,         ///< each rank's scale goes along; FP32 sum at the owner of a shard, cast again
  all_to_all_bf16     ///< the same, but the sum is gathered in BF16
};
const std::vector<SumScheme>& sum_schemes();
std::string name(SumScheme scheme);     ///< "ring, synced scale"
std::string meaning(SumScheme scheme);  ///< one line for people

struct SumRow {
  LayerLabel label;
  int ranks = 0;           ///< N
  bool resampled = false;  ///< ranks were drawn, not recorded
  std::string transform, format, scheme;
  ComparisonSums sums;    ///< of rank 0's result; with scales of its own each rank has another
  double divergence = 0;  ///< max over ranks of ||w_r - w_0|| / ||w_0||, in communication coordinates
};

struct SumOptions {
  std::vector<TransformSpecification> transforms;
  std::vector<Format> formats;  ///< e5m2, e4m3; fp32 and bf16 add without scales, in a ring
};

/// N gradients (N, m d) drawn from the normal distribution that has mean and covariance of the recorded ones
/// (R, m d), R >= 2: g_i = mean + sum_j z_ij (g_j - mean) / sqrt(R - 1), z normal by (seed, i, j). Repeats
/// none of them, which drawing ranks with replacement would, and with them their agreement.
Matrix<float> resampled_gradients(const Matrix<const float>& recorded, std::int64_t ranks,
                                  std::uint64_t seed);

class SummedGradientStudy {
 public:
  explicit SummedGradientStudy(SumOptions options) : options_(std::move(options)) {}

  /// gradients (N, m d), one rank's local gradient of a tensor (m, d) per row.
  std::vector<SumRow> run(const LayerLabel& label, const Matrix<const float>& gradients, std::int64_t m,
                          std::int64_t d, bool resampled, const LayerGeometry& geometry);

 private:
  SumOptions options_;
  TransformWorkspace workspace_;
};

}  // namespace minigift
