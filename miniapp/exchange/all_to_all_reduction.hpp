#pragma once
// The all-to-all reduction; see reduction.hpp. Message layout: bucket_plan.hpp.

#include "miniapp/exchange/message_scales.hpp"
#include "miniapp/exchange/reduction.hpp"
#include "miniapp/exchange/shard_sum.hpp"

#include <vector>

namespace minigift {

class AllToAllReduction final : public BucketReduction {
 public:
  AllToAllReduction(const Bucket& bucket, const Method& method, BucketCodec& codec,
                    Communicator& communicator, bool owner_feedback, DeviceCounters& counters);

  void start(PhiloxKey key) override;
  void set_error_feedback(const std::vector<bool>& has_residual) override {
    owner_.set_error_feedback(has_residual);
  }
  bool proceed() override;
  void finish() override;
  Vector<const float> scale() const override { return scale_; }
  void commit() override { owner_.commit(); }
  void fold_residual_into(const Vector<float>& residual) override { owner_.fold_residual_into(residual); }
  std::int64_t bytes() const override;

 private:
  enum class Stage { idle, scattering, gathering, done };

  const Bucket& bucket_;
  BucketCodec& codec_;
  Communicator& communicator_;
  Stage stage_ = Stage::idle;
  PhiloxKey key_{};
  Request request_;

  ShardSum owner_;                 // this rank's shard
  MessageScales scales_;           // of all shards
  Vector<std::uint8_t> received_;  // N messages
  Vector<std::uint8_t> message_;   // the owner's message
  Vector<float> scale_;            // (groups) of the gathered sum
};

}  // namespace minigift
