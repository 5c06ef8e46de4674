// Sizes, cases, and the definitions behind the columns.
#include "miniapp/comm/case.hpp"

#include "miniapp/comm/row.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace minigift;

CommDeck sizes(std::int64_t minimum, std::int64_t maximum, std::int64_t factor) {
  CommDeck deck;
  deck.minimum_bytes = minimum;
  deck.maximum_bytes = maximum;
  deck.factor = factor;
  return deck;
}

TEST(CommCases, SizesGoUpByTheFactorAndIncludeTheFirst) {
  EXPECT_EQ(gradient_counts(sizes(4096, 65536, 4)), (std::vector<std::int64_t>{1024, 4096, 16384}));
  EXPECT_EQ(gradient_counts(sizes(4096, 70000, 4)), (std::vector<std::int64_t>{1024, 4096, 16384}));
  EXPECT_EQ(gradient_counts(sizes(4096, 4096, 2)), (std::vector<std::int64_t>{1024}));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(gradient_counts(sizes(huge / 2, huge, 4)).size(), 1u);
}

TEST(CommCases, EverySizeFormatAndCollectiveOnce) {
  CommDeck deck = sizes(4096, 16384, 4);
  deck.formats = {Format::fp32, Format::e4m3};
  deck.collectives = {CollectiveChoice::native, CollectiveChoice::all_gather};
  const auto cases = comm_cases(deck);
  ASSERT_EQ(cases.size(), 8u);
  EXPECT_EQ(cases[0].size(), 4096);
  EXPECT_EQ(cases[2].size(), 1024);  // the same elements in e4m3
  EXPECT_EQ(cases[2].format, Format::e4m3);
  EXPECT_EQ(cases[7].collective, CollectiveChoice::all_gather);
  EXPECT_EQ(cases[7].count, 4096);
}

TEST(CommCases, BusFactorsOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveChoice::native, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveChoice::a2a, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveChoice::mpi_allreduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveChoice::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveChoice::mpi_all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveChoice::all_to_all, 1), 0.0);
}

CommRow measured(CollectiveChoice collective, Format format, std::vector<double> seconds) {
  CommRow row;
  row.wanted = {collective, format, 1000, 0};
  row.ranks = 4;
  row.seconds = std::move(seconds);
  row.comparisons = 1;
  return row;
}

TEST(CommRows, BandwidthsFollowFromSizeAndTime) {
  const CommRow row = measured(CollectiveChoice::native, Format::bf16, {4e-6, 1e-6, 2e-6});
  EXPECT_DOUBLE_EQ(times_of(row).median, 2e-6);
  EXPECT_DOUBLE_EQ(times_of(row).minimum, 1e-6);
  EXPECT_DOUBLE_EQ(times_of(row).maximum, 4e-6);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(row, 2e-6), 2000 / 2e-6);
  EXPECT_DOUBLE_EQ(bus_bandwidth(row, 2e-6), 1.5 * 2000 / 2e-6);
}

TEST(CommRows, NothingComparedIsNotValid) {
  CommRow row = measured(CollectiveChoice::native, Format::bf16, {1e-6});
  EXPECT_EQ(row.verdict_text(), "PASS");
  EXPECT_TRUE(valid(verify(std::vector{row})));
  row.comparisons = 0;
  EXPECT_EQ(row.verdict_text(), "UNCHECKED");
  EXPECT_FALSE(valid(verify(std::vector{row})));
  row.comparisons = 1;
  row.checksum_failure = "ranks hold different bits";
  EXPECT_EQ(row.verdict_text(), "FAIL");
  EXPECT_FALSE(valid(verify(std::vector{row})));
}

TEST(CommRows, OneBadRowAmongGoodOnesIsNamed) {
  std::vector<CommRow> rows = {measured(CollectiveChoice::a2a, Format::e4m3, {1e-6}),
                               measured(CollectiveChoice::all_gather, Format::e4m3, {1e-6})};
  EXPECT_TRUE(valid(verify(rows)));
  rows[1].error_failure = "iteration 3: bad";
  bool named = false;
  for (const VerifyLine& line : verify(rows)) {
    named = named || (line.name == "moves" && line.verdict == Verdict::fail &&
                      line.text.find("all-gather e4m3 of 1000 elements: iteration 3") != std::string::npos);
  }
  EXPECT_TRUE(named);
  CommRow skipped;
  skipped.skipped = "MPI has no type for e4m3";
  EXPECT_EQ(skipped.verdict_text(), "SKIPPED");
  EXPECT_FALSE(valid(verify(std::vector{skipped})));  // nothing was measured at all
}

TEST(CommRows, FiguresOfMeritAreOfTheLargestGradientInFp32) {
  std::vector<CommRow> rows = {measured(CollectiveChoice::a2a, Format::e4m3, {2e-6}),
                               measured(CollectiveChoice::native, Format::fp32, {4e-6})};
  rows[1].wanted.count = 500;
  const auto figures = figures_of_merit(rows);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].first, "gradient_bandwidth a2a e4m3");
  EXPECT_DOUBLE_EQ(figures[0].second, 4000 / 2e-6);
}

}  // namespace
