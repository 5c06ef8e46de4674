#pragma once
// The hierarchical reduction; see reduction.hpp.
//
// N = M nodes x L ranks. The N shards are sub-shards of L larger ones: local rank l of every node sums
// sub-shards l M ... l M + M - 1 over its node, and of these sub-shard l M + m over all nodes on node m. So
// every sub-shard has one owner, and of a rank's messages 2 (M - 1) leave the node, where the all-to-all
// sends 2 (N - L).
//
//   1 all-to-all in the node    M messages to each of L - 1 ranks; sum in the order of local ranks; encode
//   2 all-to-all across nodes   1 message to each of M - 1 ranks;  sum in the order of nodes; encode
//   3 all-gather across nodes   1 message to each of M - 1 ranks
//   4 all-gather in the node    M messages to each of L - 1 ranks

#include "miniapp/exchange/message_scales.hpp"
#include "miniapp/exchange/node_groups.hpp"
#include "miniapp/exchange/reduction.hpp"
#include "miniapp/exchange/shard_sum.hpp"

#include <vector>

namespace minigift {

class HierarchicalReduction final : public BucketReduction {
 public:
  /// `groups` (of the communicator whose size the bucket was laid out for) must outlive the object.
  HierarchicalReduction(const Bucket& bucket, const Method& method, BucketCodec& codec, NodeGroups& groups,
                        bool feedback, DeviceCounters& counters);

  void start(PhiloxKey key) override;
  void set_error_feedback(const std::vector<bool>& has_residual) override;
  bool proceed() override;
  void finish() override;
  Vector<const float> scale() const override { return scale_; }
  void commit() override;
  void fold_residual_into(const Vector<float>& residual) override;
  std::int64_t bytes() const override;

 private:
  /// The collective in flight.
  enum class Stage { idle, scattering_in_node, scattering_across, gathering_across, gathering_in_node, done };

  const Bucket& bucket_;
  BucketCodec& codec_;
  Communicator& node_;
  Communicator& across_;
  Stage stage_ = Stage::idle;
  PhiloxKey key_{};
  Request request_;

  ShardSum partial_;                       // of the node: M sub-shards
  ShardSum owner_;                         // over the nodes: one of them
  MessageScales scales_;                   // of all N
  Vector<std::uint8_t> from_node_;         // N messages: M of each local rank
  Vector<std::uint8_t> partial_messages_;  // M messages: the node's sums, later those over all nodes
  Vector<std::uint8_t> from_nodes_;        // M messages: one of each node
  Vector<std::uint8_t> message_;           // the owner's message
  Vector<float> scale_;                    // (groups) of the gathered sum
};

}  // namespace minigift
