// What rows amount to: medians, intervals, skew and break-evens of made-up iterations.

#include "miniapp/step/step_summary.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace minigift {
namespace {

/// Iterations whose step takes 1, 2, ... seconds; warm-up rows would spoil every number.
std::vector<IterationRow> example(const char* method, double wire_bytes, double encode) {
  std::vector<IterationRow> rows;
  for (int i = 1; i <= 7; ++i) {
    IterationRow row;
    row.method = method;
    row.ranks = 3;
    row.iteration = i;
    row.warmup = i <= 2;
    row.step_seconds = row.warmup ? 100 : i - 2;
    row.phases[4] = row.warmup ? 50 : encode;  // encode
    row.phases[5] = 0.25;                      // wire
    row.exposed_seconds = 0.5;
    row.busy_seconds = 1.2;
    row.busy_seconds_minimum = 1.0;
    row.slowest_rank = i % 2 == 0 ? 2 : 1;
    row.tokens = 600;
    row.gradient_bytes = 1000;
    row.wire_bytes = static_cast<std::int64_t>(wire_bytes);
    row.relative_l2_error = i == 1 ? 0.02 : not_measured;
    row.error_bound = 0.1;
    rows.push_back(row);
  }
  return rows;
}

TEST(StepSummary, CountsMeasuredIterationsAlone) {
  const auto rows = example("fp32", 4000, 0.001);
  const StepSummary s = summarize_iterations(rows);
  EXPECT_EQ(s.iterations, 5);
  EXPECT_EQ(s.step_seconds_median, 3);
  EXPECT_EQ(s.step_seconds_mean, 3);
  EXPECT_DOUBLE_EQ(s.step_seconds_p95, 4.8);
  EXPECT_GE(s.step_seconds_low, 1);
  EXPECT_LE(s.step_seconds_high, 5);
  EXPECT_LT(s.step_seconds_low, 3);
  EXPECT_GT(s.step_seconds_high, 3);
  EXPECT_DOUBLE_EQ(s.skew, 0.2);
  EXPECT_EQ(s.slowest_rank, 1);
  EXPECT_DOUBLE_EQ(s.slowest_share, 0.6);
  EXPECT_DOUBLE_EQ(s.tokens_per_second, 200);
  EXPECT_DOUBLE_EQ(s.gradient_bandwidth, 2000);
  EXPECT_DOUBLE_EQ(s.relative_l2_error, 0.02);  // of a warm-up iteration: it was an exchange as any
  const auto metrics = step_metrics(rows);
  EXPECT_EQ(metrics.front().name, "step_seconds");
  EXPECT_EQ(metrics.front().samples, (std::vector<double>{1, 2, 3, 4, 5}));
}

TEST(StepSummary, ASkippedIterationCountsForNoTime) {
  auto rows = example("fp32", 4000, 0.001);
  rows.back().skipped = true;
  const StepSummary s = summarize_iterations(rows);
  EXPECT_EQ(s.iterations, 4);
  EXPECT_EQ(s.skipped, 1);
  EXPECT_DOUBLE_EQ(s.step_seconds_median, 2.5);
}

TEST(StepSummary, BreakEvenIsBytesSavedOverSecondsAdded) {
  std::vector<StepSummary> all = {
      summarize_iterations(example("fp32", 4000, 0.001)), summarize_iterations(example("bf16", 2000, 0.001)),
      summarize_iterations(example("gift", 1000, 0.004)), summarize_iterations(example("fat", 5000, 0.004))};
  fill_break_evens(all);
  EXPECT_TRUE(std::isnan(all[0].break_even_fp32));  // itself
  EXPECT_EQ(all[0].break_even_bf16, 0);             // saves no bytes
  EXPECT_TRUE(std::isinf(all[1].break_even_fp32));  // adds no work
  EXPECT_NEAR(all[2].break_even_fp32, 3000 / 0.003, 1e-6);
  EXPECT_NEAR(all[2].break_even_bf16, 1000 / 0.003, 1e-6);
  EXPECT_EQ(all[3].break_even_fp32, 0);
  EXPECT_EQ(to_json(all[1])["break_even_fp32"], "always");
  EXPECT_TRUE(to_json(all[0])["break_even_fp32"].is_null());
}

}  // namespace
}  // namespace minigift
