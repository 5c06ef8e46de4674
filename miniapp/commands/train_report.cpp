#include "miniapp/commands/train_report.hpp"

#include "miniapp/commands/run_report.hpp"
#include "miniapp/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace minigift {
namespace {

/// Index of a phase by name.
std::size_t phase(std::string_view name) {
  return static_cast<std::size_t>(std::find(phase_names.begin(), phase_names.end(), name) -
                                  phase_names.begin());
}

}  // namespace

TrainProgress::TrainProgress(bool prints, const Deck& deck)
    : deck_(deck), prints_(prints), start_(std::chrono::steady_clock::now()), method_start_(start_) {
  if (prints_) line_ = run_progress_line();
}

double TrainProgress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}
double TrainProgress::method_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - method_start_).count();
}

void TrainProgress::header(const Setup& setup, const TokenSource& source) {
  print_run_header(setup, "train");
  if (!prints_) return;
  const Deck& deck = setup.deck;
  const int ranks = setup.communicator->size();
  fmt::print("  model    {}\n", describe_model(deck));
  fmt::print("  data     {}\n", source.description());
  fmt::print("  batch    {}\n", describe_batch(deck, ranks));
  print_methods(deck, ranks);
  fmt::print("  output   {}\n\n", deck.output.directory.empty()
                                      ? "none (--out DIR keeps run.json, steps.csv, figures)"
                                      : deck.output.directory);
  std::fflush(stdout);
}

void TrainProgress::begin_method(const std::string& description, double initial_validation_loss) {
  method_start_ = std::chrono::steady_clock::now();
  const auto& method = deck_.methods[static_cast<std::size_t>(methods_begun_++)];
  if (!prints_) return;
  line_->message(fmt::format("method {}: {}", method.name, description));
  line_->message(
      "  step    loss val loss   gnorm       lr   tok/s  step ms | forward backward refresh  coord encode   "
      "wire decode "
      "optim |   left");
  line_->message(fmt::format("{:>6} {:>7} {:>8.4f}", 0, "", initial_validation_loss));
}

double TrainProgress::fraction(std::int64_t step) const {
  const double of_method = static_cast<double>(step) / static_cast<double>(deck_.train.steps);
  return (static_cast<double>(methods_begun_ - 1) + of_method) / static_cast<double>(deck_.methods.size());
}

void TrainProgress::step(const StepRow& row, bool last) {
  if (!prints_) return;
  const double done = fraction(last ? deck_.train.steps : row.step);
  const double left = seconds() * (1.0 / done - 1.0);
  const bool validated = std::isfinite(row.validation_loss);
  if (last || validated || row.skipped || row.step % deck_.train.print_every == 0) {
    const auto ms = [&row](std::string_view name) { return 1e3 * row.phases[phase(name)]; };
    line_->message(fmt::format(
        "{:>6} {:>7.4f} {:>8} {:>7} {:>8.2e} {:>7.0f} {:>8.1f} | {:>7.1f} {:>8.1f} {:>7.1f} {:>6.1f} "
        "{:>6.1f} {:>6.1f} "
        "{:>6.1f} {:>5.1f} | {:>6}",
        row.step, row.train_loss, validated ? fmt::format("{:.4f}", row.validation_loss) : "",
        row.skipped ? "skipped" : fmt::format("{:.4f}", row.gradient_norm), row.learning_rate,
        row.tokens_per_second, 1e3 * row.step_seconds, ms("forward"), ms("backward"), ms("refresh"),
        ms("coordinates"), ms("encode"), ms("wire"), ms("decode"), ms("optimizer"), cell_duration(left)));
  } else {
    line_->update(done, fmt::format("{} step {}/{}, loss {:.3f}", row.method, row.step, deck_.train.steps,
                                    row.train_loss));
  }
}

void TrainProgress::message(const std::string& line) {
  if (prints_) line_->message(line);
}

void TrainProgress::finish() {
  if (prints_) line_->finish();
}

std::vector<Metric> train_metrics(const std::vector<StepRow>& rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::vector<StepRow> timed(rows.begin() + warmup_rows(count), rows.end());
  std::vector<Metric> metrics = {{"step_seconds", "s", Better::lower, {}},
                                 {"tokens_per_second", "tokens/s", Better::higher, {}}};
  for (const StepRow& row : timed) {
    metrics[0].samples.push_back(row.step_seconds);
    metrics[1].samples.push_back(row.tokens_per_second);
  }
  for (std::size_t i = 0; i < phase_count; ++i) {
    Metric metric{std::string(StepRow::phase_column(i)), "s", Better::lower, {}};
    for (const StepRow& row : timed)
      metric.samples.push_back(row.phases[i]);
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

nlohmann::ordered_json comparable_train(const Setup& setup, const MethodDeck& method) {
  nlohmann::ordered_json comparable = comparable_place(setup, "train");
  add_comparable_model(setup.deck, comparable);
  add_comparable_method(setup, method, comparable);
  return comparable;
}

void fill_differences(std::vector<MethodSummary>& methods) {
  const auto reference =
      std::find_if(methods.begin(), methods.end(), [](const MethodSummary& m) { return m.method == "fp32"; });
  if (reference == methods.end()) return;
  for (MethodSummary& method : methods) {
    method.validation_loss_difference = method.validation_loss - reference->validation_loss;
  }
}

std::int64_t warmup_rows(std::int64_t rows) {
  return std::min<std::int64_t>(2, rows / 2);
}

}  // namespace minigift
