// Values, texts, errors and places of all ranks.
#include "kernels/error.hpp"
#include "miniapp/transport/communicator.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <unistd.h>

namespace {

using namespace minigift;

TEST(Agreement, NumbersOverRanks) {
  Communicator communicator;
  const std::int64_t ranks = communicator.size();
  const std::int64_t rank = communicator.rank();
  // Beyond 2^53: integers must not pass through a double.
  const std::int64_t big = (std::int64_t{1} << 60) + rank;
  EXPECT_EQ(communicator.max_over_ranks(big), (std::int64_t{1} << 60) + ranks - 1);
  EXPECT_EQ(communicator.min_over_ranks(big), std::int64_t{1} << 60);
  EXPECT_EQ(communicator.sum_over_ranks(rank + 1), ranks * (ranks + 1) / 2);
  const auto value = static_cast<double>(rank) + 0.5;
  EXPECT_EQ(communicator.max_over_ranks(value), static_cast<double>(ranks) - 0.5);
  EXPECT_EQ(communicator.min_over_ranks(value), 0.5);
  EXPECT_EQ(communicator.sum_over_ranks(value), static_cast<double>(ranks * ranks) / 2);
  const auto all = communicator.gather_values(value);
  ASSERT_EQ(static_cast<std::int64_t>(all.size()), ranks);
  for (std::size_t r = 0; r < all.size(); ++r)
    EXPECT_EQ(all[r], static_cast<double>(r) + 0.5);
}

TEST(Agreement, StringsOfDifferentLengths) {
  CommunicatorOptions options;
  options.max_message_bytes = 1000;
  Communicator communicator(options);
  const auto text = [](int rank) { return std::string(static_cast<std::size_t>(rank * 1700), 'a') + '\0'; };
  const auto all = communicator.gather_strings(text(communicator.rank()));
  ASSERT_EQ(static_cast<int>(all.size()), communicator.size());
  for (int rank = 0; rank < communicator.size(); ++rank) {
    EXPECT_EQ(all[static_cast<std::size_t>(rank)], text(rank));
  }
  for (const auto& empty : communicator.gather_strings(""))
    EXPECT_EQ(empty, "");
}

/// What work() throws: "usage: text", "runtime: text" or "none".
std::string thrown_by(const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return std::string("usage: ") + error.what();
  } catch (const RuntimeError& error) {
    return std::string("runtime: ") + error.what();
  }
  return "none";
}

TEST(Agreement, NoErrorIsNoError) {
  Communicator communicator;
  EXPECT_EQ(thrown_by([&] { communicator.agree(std::nullopt); }), "none");
  EXPECT_EQ(thrown_by([&] { communicator.together([] {}); }), "none");
}

TEST(Agreement, ErrorOfOneRankIsThrownByAll) {
  Communicator communicator;
  for (int faulty = 0; faulty < communicator.size(); ++faulty) {
    std::optional<std::string> error;
    if (communicator.rank() == faulty) error = "no such file";
    const std::string prefix = communicator.size() == 1 ? "" : fmt::format("rank {}: ", faulty);
    EXPECT_EQ(thrown_by([&] { communicator.agree(error); }), "usage: " + prefix + "no such file");
    EXPECT_EQ(thrown_by([&] { communicator.agree(error, ErrorKind::runtime); }),
              "runtime: " + prefix + "no such file");
  }
}

TEST(Agreement, SameErrorOnAllRanksNeedsNoRank) {
  Communicator communicator;
  EXPECT_EQ(thrown_by([&] { communicator.agree("bad deck"); }), "usage: bad deck");
}

TEST(Agreement, LowestRankSpeaksForAll) {
  Communicator communicator;
  const std::string mine = fmt::format("error {}", communicator.rank());
  const std::string prefix = communicator.size() == 1 ? "" : "rank 0: ";
  EXPECT_EQ(thrown_by([&] { communicator.agree(mine); }), "usage: " + prefix + "error 0");
}

TEST(Agreement, WorkTogetherKeepsTheKindOfError) {
  Communicator communicator;
  const int last = communicator.size() - 1;
  const std::string prefix = communicator.size() == 1 ? "" : fmt::format("rank {}: ", last);
  EXPECT_EQ(thrown_by([&] {
              communicator.together([&] {
                if (communicator.rank() == last) throw UsageError("unknown key");
              });
            }),
            "usage: " + prefix + "unknown key");
  EXPECT_EQ(thrown_by([&] {
              communicator.together([&] {
                if (communicator.rank() == last) throw std::out_of_range("elsewhere");
              });
            }),
            "runtime: " + prefix + "elsewhere");
  EXPECT_EQ(communicator.prints_errors(), communicator.rank() == 0);
}

TEST(Agreement, PlacesOfAllRanks) {
  Communicator communicator;
  const auto places = communicator.placement();
  ASSERT_EQ(static_cast<int>(places.size()), communicator.size());
  const auto& mine = places[static_cast<std::size_t>(communicator.rank())];
  EXPECT_EQ(mine.process, getpid());
  for (const auto& place : places) {
    EXPECT_FALSE(place.host.empty());
    EXPECT_GT(place.process, 0);
#ifdef __linux__
    EXPECT_FALSE(place.cores.empty());
#endif
  }
}

TEST(Agreement, NodesAddUpToTheWorld) {
  Communicator communicator;
  EXPECT_GE(communicator.node_rank(), 0);
  EXPECT_LT(communicator.node_rank(), communicator.ranks_on_node());
  EXPECT_EQ(communicator.sum_over_ranks(std::int64_t{communicator.node_rank() == 0}),
            communicator.node_count());
  const double share = 1.0 / communicator.ranks_on_node();
  EXPECT_NEAR(communicator.sum_over_ranks(share), communicator.node_count(), 1e-12);
}

TEST(Agreement, DescriptionNamesLibraryAndRanks) {
  const Communicator communicator;
  const std::string text = communicator.description();
  const std::string library = communicator.mpi_library();  // name and version, then build details
  EXPECT_NE(text.find(library.substr(0, library.find(','))), std::string::npos);
  EXPECT_NE(text.find(fmt::format("{} rank", communicator.size())), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
