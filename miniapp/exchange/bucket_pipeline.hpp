#pragma once
// One bucket on its way through scale, cast, reduction and decode; see codec_exchange.hpp.

#include "miniapp/exchange/bucket_plan.hpp"
#include "miniapp/exchange/codec.hpp"
#include "miniapp/exchange/error_feedback.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/exchange/reduction.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace minigift {

class BucketPipeline {
 public:
  /// All references must outlive the pipeline. `x` is the bucket's slice of the gradient buffer.
  /// `first_infinite` (1) receives the scale group of start()'s x that is not finite: see tensor_of().
  /// `groups`: see make_reduction().
  BucketPipeline(const Bucket& bucket, const Method& method, const Vector<float>& x,
                 const Vector<std::int64_t>& first_infinite, Communicator& communicator,
                 DeviceCounters& counters, NodeGroups* groups = nullptr);

  /// Which tensors of the bucket (by position) take part in error feedback. Drops the residuals of the
  /// others.
  void set_error_feedback(const std::vector<bool>& has_residual);
  /// The residual of one tensor, or an empty view. Coordinates re-express it in place.
  Vector<float> residual(std::int64_t offset, std::int64_t count) const;
  /// Brings the residuals of sums back to the sender's, before coordinates change.
  void fold_sum_residuals();

  /// x, in communication coordinates, gets the residual added, is measured and (once scales are known) sent.
  /// `synchronise_local_scale`: this is a scale synchronisation step of the local scale rule.
  void start(PhiloxKey key, bool synchronise_local_scale);
  /// Ends the collective in flight and starts the next one; returns false, having done nothing, if there is
  /// no next one. Called at the same places on all ranks.
  bool proceed();
  /// Blocks until the sum has arrived.
  void complete();
  /// x <- decoded mean.
  void decode();
  /// Keeps this step's residuals. Without it they stay as before the step.
  void commit();

  /// The tensor that a scale group is of, -1 for BucketCodec::no_group.
  int tensor_of(std::int64_t group) const;
  std::int64_t bytes() const;

 private:
  enum class Stage { idle, scaling, reducing, reduced };
  void encode_and_send();

  const Bucket& bucket_;
  const Method& method_;
  Vector<float> x_;
  Vector<std::int64_t> first_infinite_;
  Communicator& communicator_;
  DeviceCounters& counters_;
  BucketCodec codec_;
  std::unique_ptr<BucketReduction> reduction_;
  ResidualPair residual_;
  std::vector<bool> has_residual_;
  Vector<float> decode_scale_;  // local scale rule only
  Request scale_request_;
  PhiloxKey key_{};
  Stage stage_ = Stage::idle;
  bool synchronise_local_scale_ = false;
};

}  // namespace minigift
