// Quantiles against their definition, and a bootstrap that anyone can repeat.

#include "miniapp/report/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace minigift {
namespace {

TEST(Statistics, QuantilesAreInterpolatedBetweenNeighbours) {
  const std::vector<double> samples = {4.0, 1.0, 3.0, 2.0};
  EXPECT_EQ(quantile(samples, 0.0), 1.0);
  EXPECT_EQ(quantile(samples, 1.0), 4.0);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.1), 1.3);
  EXPECT_DOUBLE_EQ(median(samples), 2.5);
  EXPECT_EQ(median(std::vector{7.0}), 7.0);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Statistics, IndicesAreSplitMix64) {
  // The generator's first number for the seed 0, published with it: 0xE220A8397B1DCDAF.
  BootstrapIndices indices(0);
  EXPECT_EQ(indices.next(std::size_t{1} << 32), 0xE220A839u);
  BootstrapIndices small(3);
  std::vector<int> counts(5, 0);
  for (int i = 0; i < 10000; ++i)
    ++counts.at(small.next(5));
  for (const int count : counts) {
    EXPECT_NEAR(count, 2000, 6 * 40) << "six standard deviations";
  }
}

TEST(Statistics, BootstrapIntervals) {
  EXPECT_EQ(bootstrap_median(std::vector{2.0}).low, 2.0);
  EXPECT_EQ(bootstrap_median(std::vector{2.0}).high, 2.0);
  EXPECT_TRUE(std::isnan(bootstrap_median({}).low));
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i)
    samples.push_back(i);
  const Interval interval = bootstrap_median(samples);
  // Order statistics of a median: ranks (n + 1)/2 -+ 1.96 sqrt(n)/2 hold it with 95 %.
  EXPECT_NEAR(interval.low, 50 - 0.98 * std::sqrt(101.0), 3);
  EXPECT_NEAR(interval.high, 50 + 0.98 * std::sqrt(101.0), 3);
  EXPECT_EQ(bootstrap_median(samples).low, interval.low) << "the same numbers every time";
}

TEST(Statistics, RatiosOfMedians) {
  std::vector<double> before, after;
  for (int i = 0; i < 40; ++i) {
    before.push_back(1.0 + 0.001 * (i % 10));
    after.push_back(1.1 * before.back());
  }
  const Interval interval = bootstrap_median_ratio(before, after);
  EXPECT_LT(interval.low, 1.1);
  EXPECT_GT(interval.high, 1.1);
  EXPECT_LT(interval.high - interval.low, 0.02);
  EXPECT_TRUE(std::isnan(bootstrap_median_ratio({}, after).high));
}

}  // namespace
}  // namespace minigift
