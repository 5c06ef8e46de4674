#pragma once
// One row of the step benchmark's steps.csv: one iteration of one method. Everything in the summary follows
// from these rows (summary.hpp; results/summarize_steps.py does it without the program).

#include "miniapp/report/phases.hpp"
#include "miniapp/report/step_row.hpp"

#include <cstdint>
#include <string>

namespace minigift {

struct IterationRow {
  std::string method;
  std::int64_t ranks = 0;
  std::int64_t iteration = 0;
  bool warmup = false;
  double step_seconds = not_measured;
  double step_seconds_minimum = not_measured;
  PhaseSeconds phases{};
  double exposed_seconds = not_measured;
  double busy_seconds = not_measured;
  double busy_seconds_minimum = not_measured;
  std::int64_t slowest_rank = 0;
  std::int64_t tokens = 0;
  std::int64_t gradient_bytes = 0;
  std::int64_t payload_bytes = 0;
  std::int64_t wire_bytes = 0;
  std::int64_t metadata_bytes = 0;
  std::int64_t update_bytes = 0;
  std::int64_t staged_bytes = 0;
  double gradient_norm = not_measured;
  double relative_l2_error = not_measured;
  double error_bound = not_measured;
  double saturated_fraction = not_measured;
  double flushed_fraction = not_measured;
  std::int64_t selected_tensors = 0;
  std::int64_t fallback_tensors = 0;
  std::string checksum;
  bool ranks_agree = false;
  bool skipped = false;

  template <class Self, class Visitor>
  static void columns(Self& self, Visitor&& visit) {
    visit(self.method, Column{"method", "", "method of gradient exchange"});
    visit(self.ranks, Column{"ranks", "", "number of ranks"});
    visit(self.iteration, Column{"iteration", "", "iteration of this method, from 1, warm-up included"});
    visit(self.warmup, Column{"warmup", "", "true: counts for nothing"});
    visit(self.step_seconds, Column{"step_seconds", "s", "maximum over ranks"});
    visit(self.step_seconds_minimum, Column{"step_seconds_minimum", "s", "minimum over ranks"});
    for (std::size_t i = 0; i < phase_count; ++i) {
      visit(self.phases[i],
            Column{StepRow::phase_column(i), "s", "exclusive time of the phase, maximum over ranks"});
    }
    visit(self.exposed_seconds, Column{"exposed_seconds", "s",
                                       "time of the step's own stream in the exchange, or waiting for it, "
                                       "maximum over ranks"});
    visit(self.busy_seconds, Column{"busy_seconds", "s",
                                    "time of a rank in all phases but wire, where it waits for others, "
                                    "maximum over ranks"});
    visit(self.busy_seconds_minimum, Column{"busy_seconds_minimum", "s", "the same, minimum over ranks"});
    visit(self.slowest_rank, Column{"slowest_rank", "", "rank with the largest busy_seconds"});
    visit(self.tokens, Column{"tokens", "tokens", "of the global batch; 0 without a model's computation"});
    visit(self.gradient_bytes, Column{"gradient_bytes", "B", "the FP32 gradient of one rank"});
    visit(self.payload_bytes, Column{"payload_bytes", "B", "codes and scales of one rank's gradient"});
    visit(self.wire_bytes,
          Column{"wire_bytes", "B",
                 "bytes one rank sent in the exchange, metadata included, maximum over ranks"});
    visit(self.metadata_bytes, Column{"metadata_bytes", "B",
                                      "of these: maxima, bases and terms that decoding needs beside the "
                                      "payload, maximum over ranks"});
    visit(self.update_bytes,
          Column{"update_bytes", "B",
                 "weights one rank sent after a sharded update, no part of wire_bytes, maximum "
                 "over ranks"});
    visit(self.staged_bytes,
          Column{"staged_bytes", "B", "copied between GPU and host memory to be sent, maximum over ranks"});
    visit(self.gradient_norm, Column{"gradient_norm", "", "global norm of the exchanged gradient"});
    visit(self.relative_l2_error,
          Column{"relative_l2_error", "", "of the exchanged gradient against an FP64 sum"});
    visit(self.error_bound, Column{"error_bound", "", "bound on relative_l2_error"});
    visit(self.saturated_fraction,
          Column{"saturated_fraction", "", "codes clipped at the largest finite value"});
    visit(self.flushed_fraction, Column{"flushed_fraction", "", "nonzero values that became zero"});
    visit(self.selected_tensors,
          Column{"selected_tensors", "", "tensors selected for the method's coordinates"});
    visit(self.fallback_tensors,
          Column{"fallback_tensors", "", "selected tensors sent in Euclidean coordinates by the guard"});
    visit(self.checksum, Column{"checksum", "", "64-bit hash of rank 0's exchanged gradient"});
    visit(self.ranks_agree, Column{"ranks_agree", "", "true: all ranks hold the same bits"});
    visit(self.skipped, Column{"skipped", "", "true if a gradient was not finite"});
  }
};

}  // namespace minigift
