#pragma once
// The all-to-all reduction; see reduction.hpp. Message layout: bucket_plan.hpp.

#include "miniapp/exchange/reduction.hpp"

#include <vector>

namespace minigift {

class AllToAllReduction final : public BucketReduction {
 public:
  AllToAllReduction(const Bucket& bucket, const Method& method, BucketCodec& codec,
                    Communicator& communicator, bool owner_feedback, DeviceCounters& counters);

  void start(PhiloxKey key) override;
  void set_error_feedback(const std::vector<bool>& has_residual) override;
  void proceed() override;
  void finish() override;
  Vector<const float> scale() const override { return scale_; }
  void commit() override;
  void fold_residual_into(const Vector<float>& residual) override;
  std::int64_t bytes() const override;

 private:
  enum class Stage { idle, scattering, gathering, done };
  /// Decodes and adds the received shards, encodes the sum and starts the all-gather.
  void own_shard();
  void decode_and_add();
  void encode_sum();
  void unpack_gathered();
  Tiles make_shard_tiles(const std::vector<Tile>& some) const;

  const Bucket& bucket_;
  const Method& method_;
  BucketCodec& codec_;
  Communicator& communicator_;
  DeviceCounters& counters_;
  Stage stage_ = Stage::idle;
  PhiloxKey key_{};
  Request request_;

  std::int64_t shard_groups_ = 0;        // scale groups of this rank's shard
  std::vector<Tile> host_tiles_;         // tiles of the shard, source = wire = position in the shard
  std::vector<int> tile_tensor_;         // position in the bucket of the tensor a tile belongs to
  Tiles shard_tiles_;                    // host_tiles_
  Tiles plain_tiles_;                    // those cast without residual
  Tiles residual_tiles_;                 // those cast with one
  Tiles gradient_tiles_;                 // all of them, source = offset in the gradient slice
  Vector<std::uint8_t> received_;        // N messages
  Vector<std::uint8_t> message_;         // the owner's message
  Vector<float> sum_;                    // (shard_elements)
  Vector<float> shard_amax_;             // (shard_groups)
  Vector<float> shard_scale_;            // (shard_groups)
  Vector<float> scale_;                  // (groups) of the gathered sum
  Vector<std::int64_t> scale_position_;  // (groups) byte offset of a group's scale in N messages
  Vector<std::int64_t> local_position_;  // (shard_groups) the same in the owner's one message
  ResidualPair residual_;                // what the owner's encoding dropped
};

}  // namespace minigift
