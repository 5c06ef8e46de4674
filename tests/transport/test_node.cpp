// Ranks and nodes in any order.
#include "miniapp/transport/node.hpp"

#include <gtest/gtest.h>

namespace {

using namespace minigift;

TEST(Nodes, AreNumberedByTheirLowestRankInWhateverOrderRanksLie) {
  const std::vector<int> numbers = {7, 3, 7, 3, 7, 9};
  const std::vector<int> node_rank = {0, 0, 1, 1, 2, 0};
  const std::vector<int> node_index = {0, 1, 0, 1, 0, 2};
  const std::vector<int> ranks_on_node = {3, 2, 3, 2, 3, 1};
  for (int rank = 0; rank < 6; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const NodeTopology topology = arrange_nodes(numbers, rank);
    EXPECT_EQ(topology.node_count, 3);
    EXPECT_EQ(topology.node_of, node_index);
    EXPECT_EQ(topology.node_index, node_index[at]) << rank;
    EXPECT_EQ(topology.node_rank, node_rank[at]) << rank;
    EXPECT_EQ(topology.ranks_on_node, ranks_on_node[at]) << rank;
  }
}

}  // namespace
