#pragma once
// What one method cost and did: a row of the final table and an entry of run.json.

#include "miniapp/report/step_row.hpp"

#include <nlohmann/json.hpp>

#include <span>
#include <string>

namespace minigift {

struct MethodSummary {
  std::string method;
  std::int64_t steps = 0;
  double validation_loss = not_measured;
  double validation_loss_difference = not_measured;  ///< to the method "fp32" of the same run
  double tokens_per_second = not_measured;
  double step_seconds_median = not_measured;
  double step_seconds_minimum = not_measured;
  double step_seconds_p95 = not_measured;
  double step_seconds_maximum = not_measured;
  PhaseSeconds phases{};  ///< mean per step of the maximum over ranks
  double payload_bytes = not_measured;
  double wire_bytes = not_measured;
  double staged_bytes = not_measured;
  double relative_l2_error = not_measured;
  double cosine = not_measured;
  double saturated_fraction = not_measured;
  double flushed_fraction = not_measured;
  std::int64_t skipped_steps = 0;
  std::int64_t fallback_tensors = 0;
  std::int64_t selected_tensors = 0;
  double replica_divergence = not_measured;  ///< largest relative difference of the ranks' parameters
  std::int64_t peak_memory_bytes = 0;        ///< maximum over ranks
  std::int64_t exchange_memory_bytes = 0;    ///< of that, what the method needs beside the gradient

  template <class Self, class Visitor>
  static void columns(Self& self, Visitor&& visit) {
    visit(self.method, Column{"method", "", "method of gradient exchange"});
    visit(self.steps, Column{"steps", "", "steps trained"});
    visit(self.validation_loss, Column{"validation_loss", "nats/token", "after the last step"});
    visit(self.validation_loss_difference,
          Column{"validation_loss_difference", "nats/token", "validation_loss minus that of fp32"});
    visit(self.tokens_per_second,
          Column{"tokens_per_second", "tokens/s", "tokens per step / median step time"});
    visit(self.step_seconds_median,
          Column{"step_seconds_median", "s", "over steps, of the maximum over ranks"});
    visit(self.step_seconds_minimum,
          Column{"step_seconds_minimum", "s", "over steps, of the maximum over ranks"});
    visit(self.step_seconds_p95,
          Column{"step_seconds_p95", "s", "95th percentile over steps, of the maximum over ranks"});
    visit(self.step_seconds_maximum,
          Column{"step_seconds_maximum", "s", "over steps, of the maximum over ranks"});
    for (std::size_t i = 0; i < phase_count; ++i) {
      visit(self.phases[i], Column{StepRow::phase_column(i), "s", "mean per step of the maximum over ranks"});
    }
    visit(self.payload_bytes,
          Column{"payload_bytes", "B", "mean per step, codes and scales of one rank's gradient"});
    visit(self.wire_bytes,
          Column{"wire_bytes", "B", "mean per step, bytes one rank sent, maximum over ranks"});
    visit(self.staged_bytes, Column{"staged_bytes", "B",
                                    "mean per step, copied between GPU and host memory to be sent, maximum "
                                    "over ranks; 0 on a host"});
    visit(self.relative_l2_error, Column{"relative_l2_error", "", "mean over checked steps"});
    visit(self.cosine, Column{"cosine", "", "mean over checked steps"});
    visit(self.saturated_fraction, Column{"saturated_fraction", "", "of all codes"});
    visit(self.flushed_fraction, Column{"flushed_fraction", "", "of all codes"});
    visit(self.skipped_steps,
          Column{"skipped_steps", "", "steps without an update because a gradient was not finite"});
    visit(self.fallback_tensors,
          Column{"fallback_tensors", "", "fallbacks to Euclidean coordinates, over all steps"});
    visit(self.selected_tensors,
          Column{"selected_tensors", "", "tensors selected for the method's coordinates"});
    visit(self.replica_divergence,
          Column{"replica_divergence", "", "largest relative difference of the ranks' parameters"});
    visit(self.peak_memory_bytes,
          Column{"peak_memory_bytes", "B", "peak resident memory, maximum over ranks"});
    visit(self.exchange_memory_bytes,
          Column{"exchange_memory_bytes", "B", "codes, scales, residuals, factors; maximum over ranks"});
  }
};

/// NaN becomes null.
nlohmann::ordered_json to_json(const MethodSummary& summary);

/// Fills steps, losses, times, bytes, errors and fractions from a method's rows; the first `warmup` rows
/// count for nothing but losses. What rows cannot know (difference, divergence, memory) stays as it is in the
/// result's defaults.
MethodSummary summarize(std::span<const StepRow> rows, std::int64_t warmup);

/// The final table by method, as two blocks of text with a legend.
std::string summary_table(std::span<const MethodSummary> methods);

}  // namespace minigift
