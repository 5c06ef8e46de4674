// How often a comparison is wrong: equal runs must not FAIL, a slow-down of 10 % must, and nothing beside it.
// Seeds are fixed, so the counts are too; the bounds are those that the program promises.

#include "tests/compare/example_records.hpp"

#include <gtest/gtest.h>

namespace minigift {
namespace {

constexpr int iterations = 20;
constexpr int repeats = 200;
/// Phases and their times in ms, of a step of 100 ms.
const std::vector<std::pair<std::string, double>> phases = {
    {"forward", 15}, {"backward", 30}, {"refresh", 2},   {"coordinates", 3}, {"encode", 5},
    {"wire", 30},    {"decode", 5},    {"optimizer", 8}, {"other", 2}};

/// What a run of 6 methods with 10 metrics measures: all phases with 3 % of noise.
/// `slowed` is a phase of one method that takes 1.1 times as long.
std::vector<Measurement> run(example::Noise& noise, double drift, double deviation,
                             const std::string& slowed) {
  std::vector<Measurement> measurements;
  const std::vector<double> shared = noise.drift(6 * iterations, drift, deviation);
  for (int method = 0; method < 6; ++method) {
    std::vector<Metric> metrics = {example::seconds("step_seconds", std::vector<double>(iterations, 0.0))};
    for (const auto& [phase, milliseconds] : phases) {
      const double factor = method == 2 && phase == slowed ? 1.1 : 1.0;
      std::vector<double> samples = noise.samples(iterations, 1e-3 * milliseconds * factor, 0.03);
      for (int i = 0; i < iterations; ++i) {
        // Methods are interleaved: iteration i of method m is the (6 i + m)-th of the job.
        samples[static_cast<std::size_t>(i)] *= shared[static_cast<std::size_t>(6 * i + method)];
        metrics[0].samples[static_cast<std::size_t>(i)] += samples[static_cast<std::size_t>(i)];
      }
      metrics.push_back(example::seconds(phase + "_seconds", std::move(samples)));
    }
    measurements.push_back(
        example::step_measurement("method" + std::to_string(method), 4, std::move(metrics)));
  }
  return measurements;
}

Comparison compare(const std::vector<Measurement>& before, const std::vector<Measurement>& after) {
  static RecordSet baseline, current;  // the comparison points into them
  baseline = example::set_of(before, "baseline");
  current = example::set_of(after, "current");
  ComparisonOptions options;
  options.resamples = 200;
  return compare_records(baseline, current, match_cases(baseline, current, false), options);
}

int comparisons_that_fail(double drift, double deviation, std::uint64_t seed) {
  example::Noise noise(seed);
  int failed = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Comparison comparison = compare(run(noise, drift, deviation, ""), run(noise, drift, deviation, ""));
    EXPECT_EQ(comparison.rows.size(), 60u);
    failed += comparison.count(ChangeVerdict::fail) > 0 ? 1 : 0;
  }
  testing::Test::RecordProperty("comparisons_that_fail", failed);
  return failed;
}

TEST(Simulation, EqualRunsDoNotFail) {
  EXPECT_LT(comparisons_that_fail(0, 0, 11), 0.05 * repeats);
}

TEST(Simulation, EqualRunsWithDriftDoNotFail) {
  // Slow waves of 2 %, correlated over some 20 iterations, that hit all methods.
  EXPECT_LT(comparisons_that_fail(0.95, 0.02, 12), 0.05 * repeats);
}

TEST(Simulation, NoisyMetricsDoNotFail) {
  // 30 % of noise: the band alone would be passed all the time.
  example::Noise noise(13);
  int failed = 0, beyond_band = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::vector<Measurement> sides[2];
    for (auto& side : sides) {
      for (int i = 0; i < 60; ++i) {
        side.push_back(example::step_measurement(
            "method" + std::to_string(i), 4,
            {example::seconds("wire_seconds", noise.samples(iterations, 0.01, 0.3))}));
      }
    }
    const Comparison comparison = compare(sides[0], sides[1]);
    failed += comparison.count(ChangeVerdict::fail) > 0 ? 1 : 0;
    beyond_band += comparison.count(ChangeVerdict::warn) > 0 ? 1 : 0;
  }
  RecordProperty("comparisons_that_fail", failed);
  EXPECT_LT(failed, 0.05 * repeats);
  EXPECT_EQ(beyond_band, repeats);
}

TEST(Simulation, OneSlowPhaseIsFoundAndNothingElse) {
  example::Noise noise(14);
  int found = 0, others = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Comparison comparison = compare(run(noise, 0, 0, ""), run(noise, 0, 0, "wire"));
    for (const ComparisonRow& row : comparison.rows) {
      if (row.verdict != ChangeVerdict::fail) continue;
      const bool is_it = row.metric == "wire_seconds" && comparison.names[row.match] == "method2";
      found += is_it ? 1 : 0;
      others += is_it ? 0 : 1;
    }
  }
  RecordProperty("found", found);
  EXPECT_GT(found, 0.95 * repeats);
  EXPECT_EQ(others, 0);
}

}  // namespace
}  // namespace minigift
