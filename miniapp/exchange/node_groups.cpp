#include "miniapp/exchange/node_groups.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <vector>

namespace minigift {

int even_ranks_per_node(const Communicator& communicator) {
  std::vector<int> ranks(static_cast<std::size_t>(communicator.node_count()), 0);
  for (const int node : communicator.nodes())
    ++ranks[static_cast<std::size_t>(node)];
  const bool even =
      std::all_of(ranks.begin(), ranks.end(), [&](int count) { return count == ranks.front(); });
  require_usage(even,
                "reduction = \"hierarchical\" needs the same number of ranks on every node; there are {} on "
                "nodes 0 to {}",
                fmt::join(ranks, ", "), ranks.size() - 1);
  return ranks.front();
}

NodeGroups::NodeGroups(Communicator& communicator) {
  even_ranks_per_node(communicator);
  const int node = communicator.node_index();
  const int local = communicator.node_rank();
  node_ = communicator.split(node, local, fmt::format("node {}", node));
  across_ = communicator.split(local, node, fmt::format("local ranks {} of all nodes", local));
}

}  // namespace minigift
