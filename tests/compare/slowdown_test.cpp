// The statistics: exact probabilities against enumeration, intervals against what they are made of.

#include "miniapp/compare/slowdown.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace minigift {
namespace {

/// The same probability by going through every way to divide the ranks 1 ... n + m.
double enumerated(const std::vector<double>& baseline, const std::vector<double>& current) {
  const auto wins = [](const std::vector<double>& a, const std::vector<double>& b) {
    double count = 0;
    for (const double x : a) {
      for (const double y : b)
        count += y > x ? 1 : 0;
    }
    return count;
  };
  std::vector<double> all(baseline);
  all.insert(all.end(), current.begin(), current.end());
  std::vector<bool> is_current(all.size(), false);
  std::fill(is_current.end() - static_cast<std::ptrdiff_t>(current.size()), is_current.end(), true);
  double arrangements = 0, as_large = 0;
  do {
    std::vector<double> a, b;
    for (std::size_t i = 0; i < all.size(); ++i)
      (is_current[i] ? b : a).push_back(all[i]);
    ++arrangements;
    as_large += wins(a, b) >= wins(baseline, current) ? 1 : 0;
  } while (std::next_permutation(is_current.begin(), is_current.end()));
  return as_large / arrangements;
}

TEST(LargerByChance, IsExactWithoutTies) {
  std::mt19937 random(7);
  for (const auto& [n, m] : {std::pair{1, 1}, {3, 5}, {5, 3}, {6, 6}, {2, 9}}) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      std::vector<double> all(static_cast<std::size_t>(n + m));
      std::iota(all.begin(), all.end(), 1.0);
      std::shuffle(all.begin(), all.end(), random);
      const std::vector<double> a(all.begin(), all.begin() + n), b(all.begin() + n, all.end());
      EXPECT_NEAR(larger_by_chance(a, b), enumerated(a, b), 1e-12) << n << " and " << m;
    }
  }
}

TEST(LargerByChance, OfSeparatedSamplesIsTheLeast) {
  for (const std::size_t n : {3u, 8u, 20u, 100u}) {
    std::vector<double> low(n), high(n);
    std::iota(low.begin(), low.end(), 0.0);
    std::iota(high.begin(), high.end(), 1000.0);
    EXPECT_NEAR(larger_by_chance(low, high) / least_chance(n, n), 1.0, 1e-9);
    EXPECT_NEAR(larger_by_chance(high, low), 1.0, 1e-9);
  }
  EXPECT_NEAR(least_chance(5, 5), 1.0 / 252, 1e-15);
}

TEST(LargerByChance, TiesAndManySamplesUseTheNormalApproximation) {
  const std::vector<double> equal(30, 1.0);
  EXPECT_EQ(larger_by_chance(equal, equal), 1.0) << "no order at all";
  // Rounded to few values, but separated: the approximation keeps the order of magnitude of the exact value.
  std::vector<double> low(10, 1.0), high(10, 2.0);
  EXPECT_GT(larger_by_chance(low, high), 1e-6);
  EXPECT_LT(larger_by_chance(low, high), 1e-4);
  // Both ways of computing agree for large samples: 100 and 100 exactly, one more by approximation.
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> a, b;
  for (int i = 0; i < 100; ++i) {
    a.push_back(normal(random));
    b.push_back(normal(random) + 0.25);
  }
  const double exact = larger_by_chance(a, b);
  b.push_back(0.25);
  EXPECT_NEAR(larger_by_chance(a, b), exact, 0.25 * exact);
  EXPECT_EQ(larger_by_chance({}, b), 1.0);
}

TEST(RatioInterval, OfOneRunIsTheBootstrapOfBlocks) {
  EXPECT_EQ(block_length(1), 1u);
  EXPECT_EQ(block_length(20), 3u);
  const SamplesByRun one = {{2.0}}, other = {{3.0}};
  EXPECT_DOUBLE_EQ(ratio_interval(one, other).low, 1.5);
  EXPECT_DOUBLE_EQ(ratio_interval(one, other).high, 1.5);
  EXPECT_TRUE(std::isnan(ratio_interval({}, other).low));
  EXPECT_TRUE(std::isnan(ratio_interval({{}}, other).low));
}

TEST(RatioInterval, CoversTheTruthAboutAsOftenAsItSays) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  int covered = 0;
  constexpr int repeats = 300;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    SamplesByRun before(1), after(1);
    for (int i = 0; i < 20; ++i) {
      before[0].push_back(std::exp(0.03 * normal(random)));
      after[0].push_back(1.1 * std::exp(0.03 * normal(random)));
    }
    const Interval interval = ratio_interval(before, after, 400);
    covered += interval.low <= 1.1 && 1.1 <= interval.high ? 1 : 0;
  }
  // The percentile bootstrap of a median of 20 samples; 3 standard deviations of 300 draws are 4 %.
  EXPECT_GE(covered, 0.90 * repeats);
  EXPECT_LE(covered, 0.99 * repeats);
}

TEST(RatioInterval, HoldsTheSpreadBetweenRuns) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  const auto runs = [&](double spread) {
    SamplesByRun result(4);
    for (std::size_t run = 0; run < result.size(); ++run) {
      const double level = std::exp(spread * (static_cast<double>(run) - 1.5));
      for (int i = 0; i < 20; ++i)
        result[run].push_back(level * std::exp(0.01 * normal(random)));
    }
    return result;
  };
  const auto width = [](const Interval& interval) { return interval.high - interval.low; };
  const SamplesByRun steady = runs(0.0), unsteady = runs(0.1);
  EXPECT_GT(width(ratio_interval(unsteady, unsteady)), 5 * width(ratio_interval(steady, steady)));
  // A pooled bootstrap would not see it: the same samples dealt out evenly.
  SamplesByRun dealt(4);
  const std::vector<double> all = pooled(unsteady);
  for (std::size_t i = 0; i < all.size(); ++i)
    dealt[i % 4].push_back(all[i]);
  EXPECT_GT(width(ratio_interval(unsteady, unsteady)), 1.5 * width(ratio_interval(dealt, dealt)));
}

}  // namespace
}  // namespace minigift
