#pragma once
// The two groups that a rank adds up with in a hierarchical reduction: its node, and its counterparts on the
// other nodes.

#include "miniapp/transport/communicator.hpp"

#include <memory>

namespace minigift {

/// Ranks on each node. Throws UsageError, with the number on every node, unless all have as many.
int even_ranks_per_node(const Communicator& communicator);

class NodeGroups {
 public:
  /// Collective. `communicator` must outlive the object. Throws UsageError as even_ranks_per_node() does.
  explicit NodeGroups(Communicator& communicator);

  /// The ranks of this node, in their order.
  Communicator& node() { return *node_; }
  /// The ranks with this one's number on their nodes, in the order of nodes.
  Communicator& across() { return *across_; }

 private:
  std::unique_ptr<Communicator> node_;
  std::unique_ptr<Communicator> across_;
};

}  // namespace minigift
