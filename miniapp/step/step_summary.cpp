#include "miniapp/step/step_summary.hpp"

#include "kernels/error.hpp"
#include "miniapp/report/json_number.hpp"
#include "miniapp/report/statistics.hpp"
#include "miniapp/report/table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace minigift {
namespace {

using Json = nlohmann::ordered_json;

std::vector<const IterationRow*> counted(std::span<const IterationRow> rows) {
  std::vector<const IterationRow*> result;
  for (const IterationRow& row : rows) {
    if (!row.warmup && !row.skipped) result.push_back(&row);
  }
  return result;
}

template <class Value>
std::vector<double> collect(const std::vector<const IterationRow*>& rows, Value value) {
  std::vector<double> result;
  for (const IterationRow* row : rows) {
    const auto number = static_cast<double>(value(*row));
    if (!std::isnan(number)) result.push_back(number);
  }
  return result;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return not_measured;
  double sum = 0;
  for (const double value : values)
    sum += value;
  return sum / static_cast<double>(values.size());
}

double largest(const std::vector<double>& values) {
  return values.empty() ? not_measured : *std::max_element(values.begin(), values.end());
}

/// Seconds of the exchange's own work on a rank, whatever the link.
double local_seconds(const StepSummary& summary) {
  double sum = 0;
  for (std::size_t i = 0; i < phase_count; ++i) {
    if (phase_names[i] == "refresh" || phase_names[i] == "coordinates" || phase_names[i] == "encode" ||
        phase_names[i] == "decode") {
      sum += summary.phases_mean[i];
    }
  }
  return sum;
}

double break_even(const StepSummary& method, const StepSummary& reference) {
  const double saved = reference.wire_bytes - method.wire_bytes;
  if (!(saved > 0)) return 0;
  const double added = local_seconds(method) - local_seconds(reference);
  return added > 0 ? saved / added : std::numeric_limits<double>::infinity();
}

Json break_even_json(double bytes_per_second) {
  return std::isinf(bytes_per_second) ? Json("always") : json_number(bytes_per_second);
}

std::string bandwidth_cell(double bytes_per_second) {
  if (std::isinf(bytes_per_second)) return "always";
  if (bytes_per_second == 0) return "never";
  return cell_fixed(1e-9 * bytes_per_second, 2);
}

}  // namespace

StepSummary summarize_iterations(std::span<const IterationRow> rows) {
  require(!rows.empty(), "no iterations to summarize");
  StepSummary summary;
  summary.method = rows.front().method;
  summary.ranks = rows.front().ranks;
  for (const IterationRow& row : rows)
    summary.skipped += row.skipped ? 1 : 0;
  std::vector<const IterationRow*> all;
  for (const IterationRow& row : rows)
    all.push_back(&row);
  summary.relative_l2_error =
      largest(collect(all, [](const IterationRow& r) { return r.relative_l2_error; }));
  summary.error_bound = largest(collect(all, [](const IterationRow& r) { return r.error_bound; }));

  const auto measured = counted(rows);
  summary.iterations = std::ssize(measured);
  const auto values = [&](auto value) { return collect(measured, value); };
  const auto step = values([](const IterationRow& r) { return r.step_seconds; });
  const Interval interval = bootstrap_median(step);
  summary.step_seconds_median = median(step);
  summary.step_seconds_low = interval.low;
  summary.step_seconds_high = interval.high;
  summary.step_seconds_p95 = quantile(step, 0.95);
  summary.step_seconds_mean = mean(step);
  for (std::size_t i = 0; i < phase_count; ++i) {
    const auto phase = values([i](const IterationRow& r) { return r.phases[i]; });
    summary.phases_median[i] = median(phase);
    summary.phases_mean[i] = mean(phase);
  }
  summary.exposed_seconds_median = median(values([](const IterationRow& r) { return r.exposed_seconds; }));
  summary.gradient_bandwidth = median(values(
      [](const IterationRow& r) { return static_cast<double>(r.gradient_bytes) / r.exposed_seconds; }));
  summary.skew =
      median(values([](const IterationRow& r) { return r.busy_seconds / r.busy_seconds_minimum - 1; }));
  std::map<std::int64_t, std::int64_t> slowest;
  for (const IterationRow* row : measured)
    ++slowest[row->slowest_rank];
  std::int64_t most = 0;
  for (const auto& [rank, count] : slowest) {
    if (count <= most) continue;
    most = count;
    summary.slowest_rank = rank;
  }
  if (!measured.empty()) {
    summary.slowest_share = static_cast<double>(most) / static_cast<double>(measured.size());
    const IterationRow& last = *measured.back();
    if (last.tokens > 0)
      summary.tokens_per_second = static_cast<double>(last.tokens) / summary.step_seconds_median;
    summary.selected_tensors = last.selected_tensors;
    summary.fallback_tensors = last.fallback_tensors;
  }
  summary.payload_bytes = mean(values([](const IterationRow& r) { return r.payload_bytes; }));
  summary.wire_bytes = mean(values([](const IterationRow& r) { return r.wire_bytes; }));
  summary.metadata_bytes = mean(values([](const IterationRow& r) { return r.metadata_bytes; }));
  summary.update_bytes = mean(values([](const IterationRow& r) { return r.update_bytes; }));
  summary.staged_bytes = mean(values([](const IterationRow& r) { return r.staged_bytes; }));
  summary.saturated_fraction = mean(values([](const IterationRow& r) { return r.saturated_fraction; }));
  summary.flushed_fraction = mean(values([](const IterationRow& r) { return r.flushed_fraction; }));
  return summary;
}

void fill_break_evens(std::vector<StepSummary>& summaries) {
  for (StepSummary& method : summaries) {
    for (const StepSummary& reference : summaries) {
      if (&reference == &method) continue;
      if (reference.method == "fp32") method.break_even_fp32 = break_even(method, reference);
      if (reference.method == "bf16") method.break_even_bf16 = break_even(method, reference);
    }
  }
}

std::string step_tables(std::span<const StepSummary> summaries) {
  Table cost({{"method", "", Align::left},
              {"step", "ms"},
              {"95 %", "ms"},
              {"p95", "ms"},
              {"mean", "ms"},
              {"tokens/s", ""},
              {"gradient", "GB/s"},
              {"payload", "B"},
              {"wire", "B"},
              {"wins fp32", "GB/s"},
              {"wins bf16", "GB/s"},
              {"rel L2", ""},
              {"bound", ""},
              {"skew", "%"},
              {"slowest", "rank"}});
  std::vector<TableColumn> columns = {{"method", "", Align::left}};
  for (const std::string_view phase : phase_names)
    columns.push_back({std::string(phase), "ms"});
  columns.push_back({"exposed", "ms"});
  Table time(columns);
  for (const StepSummary& s : summaries) {
    cost.add_row({s.method, cell_fixed(1e3 * s.step_seconds_median, 2),
                  fmt::format("{} - {}", cell_fixed(1e3 * s.step_seconds_low, 2),
                              cell_fixed(1e3 * s.step_seconds_high, 2)),
                  cell_fixed(1e3 * s.step_seconds_p95, 2), cell_fixed(1e3 * s.step_seconds_mean, 2),
                  cell_scaled(s.tokens_per_second), cell_fixed(1e-9 * s.gradient_bandwidth, 3),
                  cell_scaled(s.payload_bytes), cell_scaled(s.wire_bytes), bandwidth_cell(s.break_even_fp32),
                  bandwidth_cell(s.break_even_bf16), cell_scientific(s.relative_l2_error, 2),
                  cell_scientific(s.error_bound, 2), cell_fixed(100 * s.skew, 1),
                  fmt::format("{} ({:.0f}%)", s.slowest_rank, 100 * s.slowest_share)});
    std::vector<std::string> row = {s.method};
    for (const double seconds : s.phases_mean)
      row.push_back(cell_fixed(1e3 * seconds, 2));
    row.push_back(cell_fixed(1e3 * s.exposed_seconds_median, 2));
    time.add_row(row);
  }
  return cost.text() +
         "step: median over iterations of the slowest rank, with its 95 % bootstrap interval. mean: holds "
         "what "
         "few iterations do\n(refresh). gradient: FP32 gradient / exposed time. wire: bytes one rank sent. "
         "wins "
         "fp32, bf16: link speed per rank below\nwhich the exchange beats that method's. skew: busiest "
         "against "
         "least busy rank, without waiting; slowest: which one,\nand in how many iterations.\n\n" +
         time.text() +
         "phases: mean over iterations of the slowest rank, each without the phases inside it. exposed: "
         "median "
         "time of the step's\nown stream in the exchange.\n";
}

Json to_json(const StepSummary& s) {
  Json json;
  json["iterations"] = s.iterations;
  json["skipped"] = s.skipped;
  json["step_seconds_median"] = json_number(s.step_seconds_median);
  json["step_seconds_low"] = json_number(s.step_seconds_low);
  json["step_seconds_high"] = json_number(s.step_seconds_high);
  json["step_seconds_p95"] = json_number(s.step_seconds_p95);
  json["step_seconds_mean"] = json_number(s.step_seconds_mean);
  for (std::size_t i = 0; i < phase_count; ++i) {
    const std::string name(StepRow::phase_column(i));
    json[name + "_median"] = json_number(s.phases_median[i]);
    json[name + "_mean"] = json_number(s.phases_mean[i]);
  }
  json["exposed_seconds_median"] = json_number(s.exposed_seconds_median);
  json["skew"] = json_number(s.skew);
  json["slowest_rank"] = s.slowest_rank;
  json["slowest_share"] = json_number(s.slowest_share);
  json["tokens_per_second"] = json_number(s.tokens_per_second);
  json["gradient_bandwidth"] = json_number(s.gradient_bandwidth);
  json["break_even_fp32"] = break_even_json(s.break_even_fp32);
  json["break_even_bf16"] = break_even_json(s.break_even_bf16);
  json["payload_bytes"] = json_number(s.payload_bytes);
  json["wire_bytes"] = json_number(s.wire_bytes);
  json["metadata_bytes"] = json_number(s.metadata_bytes);
  json["update_bytes"] = json_number(s.update_bytes);
  json["staged_bytes"] = json_number(s.staged_bytes);
  json["relative_l2_error"] = json_number(s.relative_l2_error);
  json["error_bound"] = json_number(s.error_bound);
  json["saturated_fraction"] = json_number(s.saturated_fraction);
  json["flushed_fraction"] = json_number(s.flushed_fraction);
  json["selected_tensors"] = s.selected_tensors;
  json["fallback_tensors"] = s.fallback_tensors;
  return json;
}

std::vector<Metric> step_metrics(std::span<const IterationRow> rows) {
  const auto measured = counted(rows);
  std::vector<Metric> metrics;
  const auto add = [&](std::string name, const char* unit, Better better, auto value) {
    Metric metric{std::move(name), unit, better, {}};
    for (const IterationRow* row : measured)
      metric.samples.push_back(value(*row));
    metrics.push_back(std::move(metric));
  };
  add("step_seconds", "s", Better::lower, [](const IterationRow& r) { return r.step_seconds; });
  for (std::size_t i = 0; i < phase_count; ++i) {
    add(std::string(StepRow::phase_column(i)), "s", Better::lower,
        [i](const IterationRow& r) { return r.phases[i]; });
  }
  add("exposed_seconds", "s", Better::lower, [](const IterationRow& r) { return r.exposed_seconds; });
  if (!measured.empty() && measured.front()->tokens > 0) {
    add("tokens_per_second", "tokens/s", Better::higher,
        [](const IterationRow& r) { return static_cast<double>(r.tokens) / r.step_seconds; });
  }
  add("gradient_bandwidth", "B/s", Better::higher,
      [](const IterationRow& r) { return static_cast<double>(r.gradient_bytes) / r.exposed_seconds; });
  return metrics;
}

}  // namespace minigift
