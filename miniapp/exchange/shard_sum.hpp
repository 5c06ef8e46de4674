#pragma once
// One sum in FP32 of what several ranks sent: decode their messages, add in the order of their ranks, encode
// the result with scales of its own and, with error feedback, keep what that dropped for the next step.
//
// A run of consecutive shards is summed at once. Message layout: bucket_plan.hpp.

#include "kernels/format/quantize.hpp"
#include "kernels/view.hpp"
#include "miniapp/exchange/bucket_plan.hpp"
#include "miniapp/exchange/error_feedback.hpp"
#include "miniapp/exchange/message_scales.hpp"
#include "miniapp/exchange/method.hpp"

#include <cstdint>
#include <vector>

namespace minigift {

class ShardSum {
 public:
  /// Of shards first ... first + shards - 1, which `peers` ranks send. `feedback`: keeps a residual. All
  /// references must outlive the object.
  ShardSum(const Bucket& bucket, const Method& method, std::int64_t first, std::int64_t shards, int peers,
           bool feedback, DeviceCounters& counters);

  /// Which tensors of the bucket (by position) leave a residual. Drops the residuals of the others.
  void set_error_feedback(const std::vector<bool>& has_residual);

  /// sum <- sum over the ranks of what `received` (peers * shards messages, one rank's after the other's)
  /// stands for, one rounding to FP32 per addition.
  void decode_and_add(const Vector<const std::uint8_t>& received);
  /// messages (shards) <- the sum, and the residual's part of it, encoded. `key` seeds stochastic rounding.
  void encode(const Vector<std::uint8_t>& messages, PhiloxKey key);

  /// Takes over the residual that this step's encoding left.
  void commit();
  /// residual (same offsets as the bucket's gradient slice) += what is kept here, which is then forgotten.
  /// Both are parts of one sum over ranks, so that none is weighted.
  void fold_residual_into(const Vector<float>& residual);

  std::int64_t bytes() const;

 private:
  Tiles make_sum_tiles(const std::vector<Tile>& some) const;

  const Bucket& bucket_;
  const Method& method_;
  std::int64_t shards_;
  int peers_;
  DeviceCounters& counters_;
  MessageScales scales_;
  std::vector<Tile> host_tiles_;  // source = place in the sum, wire = place in the run's messages
  std::vector<int> tile_tensor_;  // position in the bucket of the tensor a tile belongs to
  Tiles tiles_;                   // host_tiles_
  Tiles plain_tiles_;             // those cast without residual
  Tiles residual_tiles_;          // those cast with one
  Tiles gradient_tiles_;      // all of them, source = offset in the gradient slice, wire = place in the sum
  Vector<float> sum_;         // (shards * shard_elements)
  Vector<float> amax_;        // (groups of the run)
  Vector<float> scale_;       // (groups of the run)
  Vector<float> peer_scale_;  // (peers * groups of the run)
  ResidualPair residual_;     // what encoding the sum dropped
};

}  // namespace minigift
