#pragma once
// What one method's iterations amount to. A function of the rows of steps.csv alone;
// results/summarize_steps.py computes the same numbers from the file.

#include "miniapp/report/measurement.hpp"
#include "miniapp/step/iteration_row.hpp"

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <vector>

namespace minigift {

struct StepSummary {
  std::string method;
  std::int64_t ranks = 0;
  std::int64_t iterations = 0;  ///< measured, not skipped
  /// Of the step [s], over iterations, of the maximum over ranks; low and high: 95 % bootstrap interval of
  /// the median. The mean holds what happens in few iterations only, such as a refresh of factors.
  double step_seconds_median = not_measured;
  double step_seconds_low = not_measured;
  double step_seconds_high = not_measured;
  double step_seconds_p95 = not_measured;
  double step_seconds_mean = not_measured;
  PhaseSeconds phases_median{};
  PhaseSeconds phases_mean{};
  double exposed_seconds_median = not_measured;
  double skew = not_measured;                ///< median over iterations of busiest rank / least busy rank - 1
  std::int64_t slowest_rank = 0;             ///< the one that was slowest most often
  double slowest_share = not_measured;       ///< in this share of the iterations
  double tokens_per_second = not_measured;   ///< tokens / median step
  double gradient_bandwidth = not_measured;  ///< B/s: FP32 gradient / exposed time, median over iterations
  double payload_bytes = not_measured;
  double wire_bytes = not_measured;  ///< mean over iterations
  double metadata_bytes = not_measured;
  double update_bytes = not_measured;
  double staged_bytes = not_measured;
  double relative_l2_error = not_measured;  ///< largest of the compared iterations, warm-up included
  double error_bound = not_measured;
  double saturated_fraction = not_measured;
  double flushed_fraction = not_measured;
  std::int64_t selected_tensors = 0;
  std::int64_t fallback_tensors = 0;  ///< of the last iteration
  std::int64_t skipped = 0;
  /// Link speed [B/s per rank] below which the method's exchange is faster than that of method fp32 (bf16) of
  /// the same run: (wire bytes saved) / (local seconds added), local = refresh + coordinates + encode +
  /// decode, means. Infinite: at any speed, for it adds none. 0: at none, for it saves no bytes. NaN: no such
  /// method in the run.
  double break_even_fp32 = not_measured;
  double break_even_bf16 = not_measured;
};

/// `rows`: of one method. Break-evens stay unset.
StepSummary summarize_iterations(std::span<const IterationRow> rows);
/// Sets the break-evens of all methods of a run.
void fill_break_evens(std::vector<StepSummary>& summaries);

/// Two tables with legends: cost and worth; where the time went.
std::string step_tables(std::span<const StepSummary> summaries);

nlohmann::ordered_json to_json(const StepSummary& summary);
/// One metric per column of times, and what follows from them: measured iterations in order.
std::vector<Metric> step_metrics(std::span<const IterationRow> rows);

}  // namespace minigift
