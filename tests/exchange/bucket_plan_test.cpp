// The layout of buckets: every element once, groups within tensors, shards equal, bytes as the closed form.
#include "miniapp/exchange/bucket_plan.hpp"

#include "tests/exchange/fixture.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace minigift {
namespace {

using test::method_named;
using test::method_with;

std::vector<TensorExtent> awkward_tensors() {
  return {{"a", 7, 13, 0}, {"b", 1, 1, 96}, {"c", 3, 5000, 112}, {"d", 64, 64, 15120}, {"e", 1, 129, 19216}};
}

class Layout : public ::testing::TestWithParam<std::tuple<std::string, int, std::int64_t>> {};

TEST_P(Layout, CoversEveryElementOnceAndKeepsGroupsApart) {
  const auto& [name, ranks, bytes] = GetParam();
  const auto tensors = awkward_tensors();
  const Method method = method_named(name, ranks);
  const BucketPlan plan(tensors, method, ranks, bytes);

  std::multiset<int> seen;
  for (const Bucket& bucket : plan.buckets()) {
    std::set<std::int64_t> wire;
    std::map<std::int64_t, std::int64_t> group_elements;
    std::int64_t elements = 0;
    for (std::size_t t = 0; t < bucket.tensors.size(); ++t) {
      const auto& tensor = tensors[static_cast<std::size_t>(bucket.tensors[t])];
      seen.insert(bucket.tensors[t]);
      std::int64_t next = tensor.offset - bucket.gradient_offset;
      for (auto i = bucket.tensor_tiles[t].begin; i < bucket.tensor_tiles[t].end; ++i) {
        const Tile& tile = bucket.host_tiles[static_cast<std::size_t>(i)];
        EXPECT_EQ(tile.source, next) << "a gap in " << tensor.name;
        next += tile.count;
        EXPECT_EQ(bucket.group_tensor[static_cast<std::size_t>(tile.group)], bucket.tensors[t]);
        group_elements[tile.group] += tile.count;
        elements += tile.count;
        for (std::int64_t e = 0; e < tile.count; ++e) {
          EXPECT_TRUE(wire.insert(tile.wire + e).second) << "two elements at one place of the wire";
        }
        if (method.reduction != Reduction::native) {
          const std::int64_t stride = bucket.message_bytes / bytes_per_code(method.format);
          EXPECT_EQ(tile.wire / stride, (tile.wire + tile.count - 1) / stride) << "a tile crosses shards";
          EXPECT_LE(tile.wire % stride + tile.count, bucket.shard_elements) << "a tile lies in the scales";
        }
      }
      EXPECT_EQ(next, tensor.offset - bucket.gradient_offset + tensor.size());
    }
    EXPECT_EQ(elements, bucket.elements);
    EXPECT_EQ(static_cast<std::int64_t>(group_elements.size()), bucket.groups) << "an empty group";
    EXPECT_EQ(bucket.wire_elements, bucket.shard_elements * ranks);
    EXPECT_LT(*wire.rbegin(), bucket.code_elements);
    if (method.granularity == Granularity::block) {
      for (const auto& [group, count] : group_elements)
        EXPECT_LE(count, method.scale_block);
    }
  }
  for (int t = 0; t < 5; ++t)
    EXPECT_EQ(seen.count(t), 1u);
  // The last tensors travel first.
  EXPECT_EQ(plan.buckets().front().tensors.back(), 4);
  EXPECT_EQ(plan.buckets().back().tensors.front(), 0);
}

INSTANTIATE_TEST_SUITE_P(Methods, Layout,
                         ::testing::Combine(::testing::Values("fp32", "bf16", "euclidean",
                                                              "euclidean-block512", "gift-a2a",
                                                              "gift-hierarchical", "int8-block128"),
                                            ::testing::Values(1, 2, 3, 4, 7),
                                            ::testing::Values(1, 20'000, 1'000'000)));

TEST(BucketPlan, RowsShareAScale) {
  const Method method =
      method_with("euclidean", 2, [](MethodDeck& deck) { deck.granularity = GranularityChoice::row; });
  const BucketPlan plan(awkward_tensors(), method, 2, 1'000'000);
  ASSERT_EQ(plan.buckets().size(), 1u);
  EXPECT_EQ(plan.buckets()[0].groups, 7 + 1 + 3 + 64 + 1);
}

TEST(BucketPlan, HashTellsPlansApart) {
  const auto tensors = awkward_tensors();
  const auto hash = [&](const char* name, int ranks, std::int64_t bytes) {
    return BucketPlan(tensors, method_named(name, ranks), ranks, bytes).hash();
  };
  EXPECT_EQ(hash("gift", 2, 1000), hash("gift", 2, 1000));
  EXPECT_NE(hash("gift", 2, 1000), hash("gift", 2, 100'000));
  EXPECT_NE(hash("gift", 2, 1000), hash("gift", 3, 1000));
  EXPECT_NE(hash("euclidean", 2, 1000), hash("bf16", 2, 1000));
}

TEST(BucketPlan, CountsTheBytesThatLeaveANode) {
  const auto tensors = awkward_tensors();
  const auto plan = [&](const char* name, int ranks, int ranks_per_node) {
    return BucketPlan(tensors, method_named(name, ranks), ranks, 1'000'000, ranks_per_node);
  };
  // Eight ranks, four on each of two nodes; the same message for both reductions.
  const BucketPlan a2a = plan("gift-a2a", 8, 4), hierarchical = plan("gift-hierarchical", 8, 4);
  const std::int64_t message = a2a.buckets().front().message_bytes;
  EXPECT_EQ(hierarchical.buckets().front().message_bytes, message);
  EXPECT_EQ(a2a.payload_wire_bytes(), 14 * message);
  EXPECT_EQ(hierarchical.payload_wire_bytes(), 14 * message);
  EXPECT_EQ(a2a.wire_bytes_between_nodes(), 8 * message);
  EXPECT_EQ(hierarchical.wire_bytes_between_nodes(), 2 * message);
  EXPECT_EQ(plan("gift", 8, 4).wire_bytes_between_nodes(), plan("gift", 8, 4).payload_wire_bytes());
  for (const char* name : {"gift", "gift-a2a", "gift-hierarchical"})
    EXPECT_EQ(plan(name, 8, 0).wire_bytes_between_nodes(), 0) << name;
  // Who counts other ranks as a node would exchange with others.
  EXPECT_NE(hierarchical.hash(), plan("gift-hierarchical", 8, 2).hash());
  EXPECT_EQ(a2a.hash(), plan("gift-a2a", 8, 2).hash());
  EXPECT_THROW(plan("gift-hierarchical", 8, 3), UsageError);
}

TEST(BucketPlan, OverlappingTensorsAreRefused) {
  EXPECT_THROW(BucketPlan({{"a", 4, 4, 0}, {"b", 4, 4, 8}}, method_named("fp32", 1), 1, 1000), UsageError);
}

}  // namespace
}  // namespace minigift
