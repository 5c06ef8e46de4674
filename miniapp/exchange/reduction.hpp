#pragma once
// How the encoded buckets of all ranks become one encoded sum.
//
//   native       the collective adds codes and rounds to the format at every hop; all codes share one scale
//                (or, in the literal variant, are added as if they did)
//   all-to-all   every rank sends shard s of its codes, with its own scales, to rank s. The owner decodes,
//   adds in
//                FP32 in rank order, encodes the sum with a scale of its own, and an all-gather returns it:
//                two roundings whatever N, the same bytes on the wire as a ring.
//
// Both leave identical bytes on all ranks.

#include "kernels/view.hpp"
#include "miniapp/exchange/bucket_plan.hpp"
#include "miniapp/exchange/codec.hpp"
#include "miniapp/exchange/error_feedback.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace minigift {

/// One bucket's reduction: start(), proceed() where it has a second collective to start, finish().
///
/// Collectives are paired over the ranks by the order in which they are started, so no start may depend on
/// timing: proceed() and finish() block until the collective in flight has ended, and callers call them at
/// fixed places.
class BucketReduction {
 public:
  virtual ~BucketReduction() = default;
  /// `key` seeds the owner's rounding where that is stochastic.
  virtual void start(PhiloxKey key) = 0;
  /// Ends the collective in flight and starts the next one, if there is one.
  virtual void proceed() {}
  /// Blocks until the codec's codes and scale() hold the sum.
  virtual void finish() = 0;
  /// Scales that decode the sum.
  virtual Vector<const float> scale() const = 0;
  /// Which tensors of the bucket (by position) leave a residual at the owner.
  virtual void set_error_feedback(const std::vector<bool>& has_residual) { (void)has_residual; }
  /// Takes over residuals written by this step.
  virtual void commit() {}
  /// Hands the owner's residual to `residual` (same offsets as the gradient slice) and forgets it: before a
  /// change of coordinates, because a shard holds rows only in part.
  virtual void fold_residual_into(const Vector<float>& residual) { (void)residual; }
  virtual std::int64_t bytes() const { return 0; }
};

/// `codec` holds this rank's codes and receives the sum in their place. `owner_feedback`: the shard owner
/// keeps what its encoding of the sum dropped and adds it in the next step (all-to-all only).
std::unique_ptr<BucketReduction> make_reduction(const Bucket& bucket, const Method& method,
                                                BucketCodec& codec, Communicator& communicator,
                                                bool owner_feedback, DeviceCounters& counters);

}  // namespace minigift
