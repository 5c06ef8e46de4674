#pragma once
// One row of steps.csv: what one step of one method did. Members, column names, units and meaning in one
// place. A value that was not measured is NaN and becomes an empty cell.

#include "miniapp/report/phases.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace minigift {

inline constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

struct Column {
  std::string_view name;
  std::string_view unit;
  std::string_view help;
};

struct StepRow {
  std::string method;
  std::int64_t step = 0;
  double train_loss = not_measured;
  double validation_loss = not_measured;
  double gradient_norm = not_measured;
  double learning_rate = not_measured;
  double step_seconds = not_measured;
  double tokens_per_second = not_measured;
  PhaseSeconds phases{};
  std::int64_t payload_bytes = 0;
  std::int64_t wire_bytes = 0;
  std::int64_t staged_bytes = 0;
  double relative_l2_error = not_measured;
  double cosine = not_measured;
  double saturated_fraction = not_measured;
  double flushed_fraction = not_measured;
  std::int64_t fallback_tensors = 0;
  std::int64_t selected_tensors = 0;
  bool skipped = false;

  template <class Self, class Visitor>
  static void columns(Self& self, Visitor&& visit) {
    visit(self.method, Column{"method", "", "method of gradient exchange"});
    visit(self.step, Column{"step", "", "optimizer step, from 1"});
    visit(self.train_loss, Column{"train_loss", "nats/token", "mean over the global batch"});
    visit(self.validation_loss,
          Column{"validation_loss", "nats/token", "mean over the held-out sequences, after the step"});
    visit(self.gradient_norm, Column{"gradient_norm", "", "global norm before clipping"});
    visit(self.learning_rate, Column{"learning_rate", "", "learning rate of the step"});
    visit(self.step_seconds, Column{"step_seconds", "s", "maximum over ranks"});
    visit(self.tokens_per_second,
          Column{"tokens_per_second", "tokens/s", "tokens of the global batch / step_seconds"});
    for (std::size_t i = 0; i < phase_count; ++i) {
      visit(self.phases[i], Column{phase_column(i), "s", "exclusive time of the phase, maximum over ranks"});
    }
    visit(self.payload_bytes, Column{"payload_bytes", "B", "codes and scales of one rank's gradient"});
    visit(self.wire_bytes, Column{"wire_bytes", "B", "bytes one rank sent, maximum over ranks"});
    visit(self.staged_bytes,
          Column{"staged_bytes", "B", "copied between GPU and host memory to be sent, maximum over ranks"});
    visit(self.relative_l2_error,
          Column{"relative_l2_error", "", "of the exchanged gradient against an FP64 sum"});
    visit(self.cosine, Column{"cosine", "", "between the exchanged gradient and an FP64 sum"});
    visit(self.saturated_fraction,
          Column{"saturated_fraction", "", "codes clipped at the largest finite value"});
    visit(self.flushed_fraction, Column{"flushed_fraction", "", "nonzero values that became zero"});
    visit(self.fallback_tensors,
          Column{"fallback_tensors", "", "selected tensors sent in Euclidean coordinates by the guard"});
    visit(self.selected_tensors,
          Column{"selected_tensors", "", "tensors selected for the method's coordinates"});
    visit(self.skipped, Column{"skipped", "", "true if a gradient was not finite and the step was skipped"});
  }

  /// "forward_seconds", …
  static std::string_view phase_column(std::size_t phase);
};

}  // namespace minigift
