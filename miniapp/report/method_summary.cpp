#include "miniapp/report/method_summary.hpp"

#include "kernels/error.hpp"
#include "miniapp/report/statistics.hpp"
#include "miniapp/report/table.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace minigift {
namespace {

/// Mean of the measured values of one member.
template <class Member>
double mean(std::span<const StepRow> rows, Member member) {
  double sum = 0;
  std::int64_t count = 0;
  for (const StepRow& row : rows) {
    const auto value = static_cast<double>(row.*member);
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? not_measured : sum / static_cast<double>(count);
}

}  // namespace

nlohmann::ordered_json to_json(const MethodSummary& summary) {
  nlohmann::ordered_json json;
  MethodSummary::columns(summary, [&](const auto& value, const Column& column) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
      json[std::string(column.name)] = std::isfinite(value) ? nlohmann::ordered_json(value) : nullptr;
    } else {
      json[std::string(column.name)] = value;
    }
  });
  return json;
}

MethodSummary summarize(std::span<const StepRow> rows, std::int64_t warmup) {
  MethodSummary summary;
  require(!rows.empty(), "no steps to summarize");
  summary.method = rows.front().method;
  summary.steps = std::ssize(rows);
  for (const StepRow& row : rows) {
    if (!std::isnan(row.validation_loss)) summary.validation_loss = row.validation_loss;
    summary.skipped_steps += row.skipped ? 1 : 0;
    summary.fallback_tensors += row.fallback_tensors;
    summary.selected_tensors = std::max(summary.selected_tensors, row.selected_tensors);
  }
  // A run shorter than its warm-up still has its last step measured.
  const auto timed =
      rows.subspan(static_cast<std::size_t>(std::clamp<std::int64_t>(warmup, 0, summary.steps - 1)));
  std::vector<double> seconds;
  double tokens = not_measured;
  for (const StepRow& row : timed) {
    if (!std::isnan(row.step_seconds)) seconds.push_back(row.step_seconds);
    tokens = row.tokens_per_second * row.step_seconds;  // tokens of the global batch, the same in every step
    for (std::size_t i = 0; i < phase_count; ++i) {
      summary.phases[i] += row.phases[i] / static_cast<double>(timed.size());
    }
  }
  summary.step_seconds_minimum = quantile(seconds, 0);
  summary.step_seconds_median = quantile(seconds, 0.5);
  summary.step_seconds_p95 = quantile(seconds, 0.95);
  summary.step_seconds_maximum = quantile(seconds, 1);
  summary.tokens_per_second = tokens / summary.step_seconds_median;
  summary.payload_bytes = mean(timed, &StepRow::payload_bytes);
  summary.wire_bytes = mean(timed, &StepRow::wire_bytes);
  summary.staged_bytes = mean(timed, &StepRow::staged_bytes);
  summary.relative_l2_error = mean(rows, &StepRow::relative_l2_error);
  summary.cosine = mean(rows, &StepRow::cosine);
  summary.saturated_fraction = mean(rows, &StepRow::saturated_fraction);
  summary.flushed_fraction = mean(rows, &StepRow::flushed_fraction);
  return summary;
}

std::string summary_table(std::span<const MethodSummary> methods) {
  Table quality({{"method", "", Align::left},
                 {"steps", ""},
                 {"val loss", "nats/tok"},
                 {"vs fp32", "nats/tok"},
                 {"tokens/s", ""},
                 {"payload", "B/step"},
                 {"wire", "B/step"},
                 {"rel L2", ""},
                 {"1-cosine", ""},
                 {"saturated", ""},
                 {"flushed", ""},
                 {"skipped", "steps"},
                 {"fallback", "tensors"},
                 {"exchange", "B memory"},
                 {"peak", "B memory"}});
  std::vector<TableColumn> columns = {{"method", "", Align::left}, {"step", "ms"}, {"p95", "ms"}};
  for (const std::string_view phase : phase_names)
    columns.push_back({std::string(phase), "ms"});
  Table time(columns);
  for (const MethodSummary& m : methods) {
    quality.add_row(
        {m.method, cell_count(m.steps), cell_fixed(m.validation_loss, 4),
         std::isfinite(m.validation_loss_difference) ? fmt::format("{:+.4f}", m.validation_loss_difference)
                                                     : "-",
         cell_scaled(m.tokens_per_second), cell_scaled(m.payload_bytes), cell_scaled(m.wire_bytes),
         cell_scientific(m.relative_l2_error, 2), cell_scientific(1 - m.cosine, 1),
         cell_scientific(m.saturated_fraction, 1), cell_scientific(m.flushed_fraction, 1),
         cell_count(m.skipped_steps), cell_count(m.fallback_tensors),
         cell_scaled(static_cast<double>(m.exchange_memory_bytes)),
         cell_scaled(static_cast<double>(m.peak_memory_bytes))});
    std::vector<std::string> row = {m.method, cell_fixed(1e3 * m.step_seconds_median, 1),
                                    cell_fixed(1e3 * m.step_seconds_p95, 1)};
    for (const double seconds : m.phases)
      row.push_back(cell_fixed(1e3 * seconds, 2));
    time.add_row(row);
  }
  return quality.text() +
         "rel L2, 1-cosine: the exchanged gradient against an FP64 sum of the same local gradients, on "
         "checked "
         "steps.\n"
         "payload: codes and scales of one gradient. wire: bytes one rank sent. fallback: selected tensors "
         "that the "
         "guard\nkept Euclidean, summed over steps. exchange: memory of the method beside the gradient.\n\n" +
         time.text() +
         "step: median over steps of the slowest rank. phases: mean over steps of the slowest rank, each "
         "without "
         "the phases\ninside it.\n";
}

}  // namespace minigift
