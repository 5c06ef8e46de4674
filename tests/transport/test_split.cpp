// Groups of ranks: what they compute, what they count, and that waiting in one holds up no other; which ranks
// count as a node.
#include "kernels/error.hpp"
#include "kernels/reference/native_all_reduce.hpp"
#include "miniapp/transport/communicator.hpp"
#include "miniapp/transport/self_test.hpp"
#include "tests/transport/transport_fixture.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace minigift;
using namespace minigift::test;

CommunicatorOptions quick() {
  return {.watchdog_seconds = 20.0, .self_test = false, .staging = Staging::host};
}

/// Ranks of the world with the parity of `rank`, the highest first.
std::vector<int> members(int rank, int ranks) {
  std::vector<int> all;
  for (int r = ranks - 1; r >= 0; --r) {
    if (r % 2 == rank % 2) all.push_back(r);
  }
  return all;
}

TEST(Split, GroupsComputeAmongThemselvesInTheOrderOfTheKey) {
  Communicator world(quick());
  const int me = world.rank();
  const auto group = world.split(me % 2, -me, me % 2 == 0 ? "even" : "odd");
  const std::vector<int> expected = members(me, world.size());
  ASSERT_EQ(group->size(), static_cast<int>(expected.size()));
  EXPECT_EQ(expected[static_cast<std::size_t>(group->rank())], me);
  EXPECT_NO_THROW(self_test(*group));

  EXPECT_EQ(group->gather_values(me), std::vector<double>(expected.begin(), expected.end()));
  EXPECT_EQ(group->sum_over_ranks(std::int64_t{me}),
            std::accumulate(expected.begin(), expected.end(), std::int64_t{0}));
  EXPECT_EQ(group->broadcast_string(std::to_string(me), 0), std::to_string(expected.front()));

  constexpr std::int64_t bytes = 777;
  const Vector<std::uint8_t> all("all", bytes * expected.size());
  group->all_gather(to_vector(random_bytes(me, 1, bytes)), all, bytes).wait();
  std::vector<std::uint8_t> gathered;
  std::vector<std::vector<std::uint8_t>> codes;
  for (const int rank : expected) {
    const auto theirs = random_bytes(rank, 1, bytes);
    gathered.insert(gathered.end(), theirs.begin(), theirs.end());
    codes.push_back(random_codes(Format::bf16, rank, 2, 1000 * group->size()));
  }
  EXPECT_EQ(to_host(all), gathered);
  const auto sum = to_vector(codes[static_cast<std::size_t>(group->rank())]);
  group->native_all_reduce(Format::bf16, sum).wait();
  EXPECT_EQ(to_host(sum), reference::native_all_reduce(Format::bf16, codes));
}

TEST(Split, WhatGroupsSendIsCountedInTheWhole) {
  CommunicatorOptions options = quick();
  options.check_signatures = false;
  Communicator world(options);
  const TransportCounters before = world.counters();
  const std::int64_t others = static_cast<std::int64_t>(members(world.rank(), world.size()).size()) - 1;
  {
    const auto group = world.split(world.rank() % 2, 0, "half");
    const auto size = static_cast<std::size_t>(group->size());
    const Vector<std::uint8_t> one("one", 100), all("all", 100 * size), back("back", 100 * size);
    group->all_gather(one, all, 100).wait();
    group->all_to_all(all, back, 100, Traffic::metadata).wait();
    EXPECT_EQ(&group->counters(), &world.counters());
  }
  world.barrier();
  const TransportCounters used = world.counters() - before;
  EXPECT_EQ(used.payload.bytes_sent, others * 100);
  EXPECT_EQ(used.metadata.bytes_sent, others * 100);
  EXPECT_EQ(used.payload.messages, others);
  EXPECT_EQ(used.payload.collectives, 1);
  EXPECT_EQ(used.control.collectives, 1);
}

TEST(Split, AGroupOfOneComputesAndSendsNothing) {
  CommunicatorOptions options = quick();
  options.check_signatures = false;
  Communicator world(options);
  const auto alone = world.split(world.rank(), 0, "nobody else");
  EXPECT_EQ(alone->size(), 1);
  EXPECT_NO_THROW(self_test(*alone));
  const auto values = to_vector(random_bytes(world.rank(), 3, 64));
  const Vector<std::uint8_t> copy("copy", 64);
  alone->all_to_all(values, copy, 64).wait();
  EXPECT_EQ(to_host(copy), to_host(values));
  EXPECT_EQ(alone->placement().size(), 1u);
  const TransportCounters& counters = world.counters();
  EXPECT_EQ(counters.payload.bytes_sent + counters.metadata.bytes_sent + counters.control.bytes_sent, 0);
}

TEST(Split, GroupsMayBeSplitAgain) {
  Communicator world(quick());
  const auto half = world.split(world.rank() % 2, 0, "half");
  const auto pair = half->split(half->rank() / 2, 0, "pair");
  EXPECT_LE(pair->size(), 2);
  const double sum = pair->sum_over_ranks(1.0);
  EXPECT_EQ(sum, pair->size());
  EXPECT_EQ(&pair->counters(), &world.counters());
  EXPECT_EQ(half->sum_over_ranks(1.0 / pair->size()), (half->size() + 1) / 2);
}

// Rank 0 waits in a group for ranks that wait for a ring over all ranks first: it must take its part in the
// ring meanwhile.
TEST(Split, WaitingInAGroupAdvancesTheWhole) {
  Communicator world(quick());
  const auto group = world.split(0, 0, "all again");
  const Vector<std::uint8_t> codes("codes", static_cast<std::size_t>(world.size()) << 21);
  Request ring = world.native_all_reduce(Format::fp32, codes);
  if (world.rank() == 0) group->barrier();
  ring.wait();
  if (world.rank() != 0) group->barrier();
  // And the other way round.
  ring = group->native_all_reduce(Format::fp32, codes);
  if (world.rank() == 0) world.barrier();
  ring.wait();
  if (world.rank() != 0) world.barrier();
}

TEST(Split, MismatchedCallsNameTheGroupAndTheRanksOfTheWorld) {
  Communicator world(quick());
  if (world.size() < 4) GTEST_SKIP() << "two groups of two";
  const auto group = world.split(world.rank() / 2, 0, "pair " + std::to_string(world.rank() / 2));
  if (world.rank() / 2 == 1) {
    const Vector<float> values("values", world.rank() == 3 ? 2 : 1);
    try {
      group->all_reduce_max(values).wait();
      FAIL() << "no error";
    } catch (const RuntimeError& error) {
      const std::string text = error.what();
      for (const char* part :
           {"ranks of pair 1", "rank 2: all_reduce_max float[1]", "rank 3: all_reduce_max float[2]"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
  world.barrier();
}

TEST(Nodes, AreAsToldForAnyDivisor) {
  int ranks = Communicator(quick()).size();
  for (int each = 1; each <= ranks; ++each) {
    CommunicatorOptions options = quick();
    options.ranks_per_node = each;
    if (ranks % each != 0) {
      EXPECT_THROW(Communicator{options}, UsageError) << each;
      continue;
    }
    Communicator communicator(options);
    EXPECT_EQ(communicator.ranks_on_node(), each);
    EXPECT_EQ(communicator.node_count(), ranks / each);
    EXPECT_EQ(communicator.node_index(), communicator.rank() / each);
    EXPECT_EQ(communicator.node_rank(), communicator.rank() % each);
    for (int r = 0; r < ranks; ++r)
      EXPECT_EQ(communicator.nodes()[static_cast<std::size_t>(r)], r / each);
    // The machine stays what it is.
    EXPECT_EQ(communicator.ranks_on_host(), Communicator(quick()).ranks_on_host());
    const std::string told = "told to count " + std::to_string(each) + " ranks as a node";
    EXPECT_NE(communicator.description().find(told), std::string::npos) << communicator.description();

    // A group knows them too: here the first ranks of all nodes, and so on.
    const auto across = communicator.split(communicator.node_rank(), 0, "across");
    EXPECT_EQ(across->node_count(), across->size());
    EXPECT_EQ(across->node_index(), across->rank());
    EXPECT_EQ(across->ranks_on_node(), 1);
    EXPECT_EQ(across->ranks_on_host(), communicator.ranks_on_host());
  }
  EXPECT_EQ(Communicator(quick()).description().find("told"), std::string::npos);
  EXPECT_THROW(Communicator({.self_test = false, .ranks_per_node = -1}), UsageError);
}

}  // namespace
