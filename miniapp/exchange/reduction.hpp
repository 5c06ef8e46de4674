#pragma once
// How the encoded buckets of all ranks become one encoded sum.
//
//   native       the collective adds codes and rounds to the format at every hop; all codes share one scale
//                (or, in the literal variant, are added as if they did)
//   all-to-all   every rank sends shard s of its codes, with its own scales, to rank s. The owner decodes,
//                adds in FP32 in rank order, encodes the sum with a scale of its own, and an all-gather
//                returns it: two roundings whatever N, the same bytes on the wire as a ring.
//   hierarchical the same in two levels, first within each node, then across nodes, and back: three
//                roundings, and fewer bytes leave the node. With one node, or one rank on each, it is the
//                all-to-all.
//
// All leave identical bytes on all ranks.

#include "kernels/view.hpp"
#include "miniapp/exchange/bucket_plan.hpp"
#include "miniapp/exchange/codec.hpp"
#include "miniapp/exchange/error_feedback.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/exchange/node_groups.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace minigift {

/// One bucket's reduction: start(), proceed() for each further collective, finish().
///
/// Collectives are paired over the ranks by the order in which they are started, so no start may depend on
/// timing: proceed() and finish() block until the collective in flight has ended, and callers call them at
/// fixed places.
class BucketReduction {
 public:
  virtual ~BucketReduction() = default;
  /// `key` seeds the rounding of sums where that is stochastic.
  virtual void start(PhiloxKey key) = 0;
  /// Ends the collective in flight and starts the next one; if there is no next one does nothing and returns
  /// false.
  virtual bool proceed() { return false; }
  /// Proceeds as often as there is a next one, and blocks until the codec's codes and scale() hold the sum.
  virtual void finish() = 0;
  /// Scales that decode the sum.
  virtual Vector<const float> scale() const = 0;
  /// Which tensors of the bucket (by position) leave a residual where sums are encoded.
  virtual void set_error_feedback(const std::vector<bool>& has_residual) { (void)has_residual; }
  /// Takes over residuals written by this step.
  virtual void commit() {}
  /// Hands what is kept where sums are encoded to `residual` (same offsets as the gradient slice) and forgets
  /// it: before a change of coordinates, because a shard holds rows only in part.
  virtual void fold_residual_into(const Vector<float>& residual) { (void)residual; }
  virtual std::int64_t bytes() const { return 0; }
};

/// `codec` holds this rank's codes and receives the sum in their place. `feedback`: whoever encodes a sum in
/// FP32 keeps what that dropped and adds it in the next step (not the native reduction). `groups`: the
/// communicator's, for the hierarchical reduction, which may share them between buckets.
std::unique_ptr<BucketReduction> make_reduction(const Bucket& bucket, const Method& method,
                                                BucketCodec& codec, Communicator& communicator, bool feedback,
                                                DeviceCounters& counters, NodeGroups* groups = nullptr);

}  // namespace minigift
