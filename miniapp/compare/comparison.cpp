#include "miniapp/compare/comparison.hpp"

#include "miniapp/compare/slowdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace minigift {
namespace {

using Json = nlohmann::ordered_json;
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double none = std::numeric_limits<double>::quiet_NaN();

const Metric* find_metric(const Measurement& measurement, const std::string& name) {
  const auto found = std::find_if(measurement.metrics.begin(), measurement.metrics.end(),
                                  [&](const Metric& metric) { return metric.name == name; });
  return found == measurement.metrics.end() ? nullptr : &*found;
}

struct Samples {
  SamplesByRun runs;  ///< finite
  std::int64_t measured = 0;
  bool exists = false;  ///< some run has the metric
};

Samples samples_of(const MeasuredCase& one, const std::string& name) {
  Samples samples;
  for (const Measurement& run : one.runs) {
    const Metric* metric = find_metric(run, name);
    if (metric == nullptr) continue;
    samples.exists = true;
    samples.runs.emplace_back();
    for (const double sample : metric->samples) {
      if (std::isfinite(sample)) samples.runs.back().push_back(sample);
    }
    samples.measured += std::ssize(samples.runs.back());
  }
  return samples;
}

/// Leaves out iterations in which the phase did not run.
void drop_zeros(Samples& samples) {
  for (std::vector<double>& run : samples.runs)
    std::erase(run, 0.0);
}

std::int64_t count_of(const Samples& samples) {
  std::int64_t count = 0;
  for (const std::vector<double>& run : samples.runs)
    count += std::ssize(run);
  return count;
}

/// Metrics to judge. Rates are functions of the times of the same iterations, and without overlap the exposed
/// time is the sum of the exchange's phases: judged again, one change would fail twice.
std::vector<const Metric*> judged_metrics(const MeasuredCase& one) {
  std::vector<const Metric*> all, times;
  std::set<std::string> seen;
  const bool sum_of_phases = one.comparable.value("overlap", Json()) == false;
  for (const Measurement& run : one.runs) {
    for (const Metric& metric : run.metrics) {
      if (!seen.insert(metric.name).second) continue;
      all.push_back(&metric);
      const bool derived = sum_of_phases && metric.name == "exposed_seconds";
      if (metric.unit == "s" && !derived) times.push_back(&metric);
    }
  }
  return times.empty() ? all : times;
}

/// The median step of the baseline, what the floor is a fraction of; 0 if no steps were timed.
double median_step(const MeasuredCase& baseline) {
  const std::vector<double> steps = pooled(samples_of(baseline, "step_seconds").runs);
  return steps.empty() ? 0.0 : median(steps);
}

std::string ran_in(const Samples& before, const Samples& after) {
  const std::int64_t ran_before = count_of(before), ran_after = count_of(after);
  if (ran_before == before.measured && ran_after == after.measured) return "";
  return fmt::format("ran in {} of {} iterations against {} of {}", ran_before, before.measured, ran_after,
                     after.measured);
}

void add_note(std::string& note, const std::string& text) {
  if (!text.empty()) note += (note.empty() ? "" : "; ") + text;
}

/// Fills in a row from its samples. False if the metric was 0 throughout: nothing to compare, no row.
bool measure(ComparisonRow& row, const MatchedCase& match, const Metric& metric,
             const ComparisonOptions& options) {
  Samples before = samples_of(*match.baseline, metric.name);
  Samples after = samples_of(*match.current, metric.name);
  row.baseline = row.current = row.slowdown = none;
  row.interval = {none, none};
  if (metric.unit == "s") {
    drop_zeros(before);
    drop_zeros(after);
    if (before.measured > 0 && after.measured > 0 && count_of(before) + count_of(after) == 0) return false;
    add_note(row.note, ran_in(before, after));
  }
  row.baseline_runs = std::ssize(before.runs);
  row.current_runs = std::ssize(after.runs);
  row.baseline_samples = count_of(before);
  row.current_samples = count_of(after);
  const std::vector<double> all_before = pooled(before.runs), all_after = pooled(after.runs);
  if (!all_before.empty()) row.baseline = median(all_before);
  if (!all_after.empty()) row.current = median(all_after);
  if (!before.exists || !after.exists) {
    add_note(row.note, before.exists ? "not in current" : "not in the baseline");
  } else if (metric.unit == "s" && before.measured >= options.least_samples && row.baseline_samples == 0) {
    row.baseline = 0.0;
    row.slowdown = infinite;
    row.interval = {infinite, infinite};
    row.chance =
        larger_by_chance(std::vector<double>(static_cast<std::size_t>(before.measured), 0.0), all_after);
  } else if (metric.unit == "s" && row.baseline_samples >= options.least_samples &&
             after.measured >= options.least_samples && row.current_samples == 0) {
    row.current = row.slowdown = 0.0;
    row.interval = {0.0, 0.0};
  } else if (row.baseline_samples < options.least_samples || row.current_samples < options.least_samples) {
    add_note(row.note, fmt::format("{} and {} samples, {} needed", row.baseline_samples, row.current_samples,
                                   options.least_samples));
  } else if (metric.better == Better::lower) {
    row.slowdown = row.current / row.baseline;
    row.interval = ratio_interval(before.runs, after.runs, options.resamples);
    row.chance = larger_by_chance(all_before, all_after);
  } else {
    row.slowdown = row.baseline / row.current;
    row.interval = ratio_interval(after.runs, before.runs, options.resamples);
    row.chance = larger_by_chance(all_after, all_before);
  }
  return true;
}

void judge(ComparisonRow& row, const ComparisonOptions& options, std::int64_t tests) {
  if (std::isnan(row.slowdown)) return;
  const double threshold = options.false_alarm / static_cast<double>(tests);
  const bool slow = row.slowdown > 1.0 + row.band;
  const bool surely_slow = row.interval.low > 1.0 + row.band;
  row.verdict = ChangeVerdict::pass;
  if (row.slowdown < 1.0 / (1.0 + row.band) && row.interval.high < 1.0) {
    add_note(row.note, "faster");
  } else if (row.floor > 0.0 && row.current - row.baseline <= row.floor) {
    if (slow) add_note(row.note, "slower, but below the floor");
  } else if (surely_slow && row.chance < threshold) {
    row.verdict = ChangeVerdict::fail;
  } else if (surely_slow) {
    row.verdict = ChangeVerdict::warn;
    const double least = least_chance(static_cast<std::size_t>(row.baseline_samples),
                                      static_cast<std::size_t>(row.current_samples));
    add_note(row.note, least < threshold ? fmt::format("could be chance among {} rows", tests)
                                         : fmt::format("too few samples to be sure among {} rows", tests));
  } else if (slow) {
    row.verdict = ChangeVerdict::warn;
    add_note(row.note, "the interval reaches into the band");
  } else if (row.interval.low > 1.0 + 0.5 * row.band) {
    row.verdict = ChangeVerdict::warn;
    add_note(row.note, "slower by more than half the band");
  }
}

ComparisonRow missing_case(const MatchedCase& match, std::size_t place) {
  ComparisonRow row;
  row.match = place;
  row.baseline = row.current = row.slowdown = none;
  row.interval = {none, none};
  row.note = match.current == nullptr ? "not in current" : "not in the baseline";
  row.headline = true;
  return row;
}

/// Many small changes in one direction are the machine's, not one part's.
void note_machine(Comparison& result) {
  std::vector<double> slowdowns;
  for (const ComparisonRow& row : result.rows) {
    if (std::isfinite(row.slowdown) && row.slowdown > 0.0) slowdowns.push_back(row.slowdown);
  }
  constexpr std::size_t many = 10;
  const double middle = median(slowdowns);
  if (slowdowns.size() < many || std::abs(std::log(middle)) < std::log1p(result.options.bands.standard))
    return;
  result.notes.push_back(
      fmt::format("the median change of all rows is {:+.1f} %: the whole machine was {} (load, clocks, "
                  "placement), rather than one part of the step",
                  100.0 * (middle - 1.0), middle > 1.0 ? "slower" : "faster"));
}

std::string values_text(const std::set<std::string>& values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

/// What differs between the environments of both sides.
void note_environment(std::vector<std::string>& notes, const RecordSet& baseline, const RecordSet& current) {
  static constexpr std::array<std::array<const char*, 2>, 10> facts = {{{"/git/commit", "git commit"},
                                                                        {"/git/dirty", "changed sources"},
                                                                        {"/compiler", "compiler"},
                                                                        {"/compiler_flags", "compiler flags"},
                                                                        {"/build_type", "build type"},
                                                                        {"/kokkos/version", "Kokkos"},
                                                                        {"/kokkos/backend", "Kokkos backend"},
                                                                        {"/mpi", "MPI"},
                                                                        {"/linear_algebra", "linear algebra"},
                                                                        {"/cpu_model", "CPU"}}};
  for (const auto& [pointer, name] : facts) {
    const Json::json_pointer place(pointer);
    const auto values = [&](const RecordSet& set) {
      std::set<std::string> found;
      for (const Json& environment : set.environments) {
        const Json value = environment.contains(place) ? environment[place] : Json("unknown");
        found.insert(value.is_string() ? value.get<std::string>() : value.dump());
      }
      return values_text(found);
    };
    const std::string before = values(baseline), after = values(current);
    if (before != after) notes.push_back(fmt::format("{}: {} against {}", name, before, after));
  }
}

}  // namespace

std::string_view verdict_word(ChangeVerdict verdict) {
  static constexpr std::array<std::string_view, change_verdict_count> words = {"PASS", "WARN", "FAIL",
                                                                               "UNKNOWN"};
  return words[static_cast<std::size_t>(verdict)];
}

std::int64_t Comparison::count(ChangeVerdict verdict) const {
  return std::count_if(rows.begin(), rows.end(),
                       [&](const ComparisonRow& row) { return row.verdict == verdict; });
}

Comparison compare_records(const RecordSet& baseline, const RecordSet& current,
                           std::vector<MatchedCase> matches, const ComparisonOptions& options) {
  Comparison result;
  result.baseline_path = baseline.path;
  result.current_path = current.path;
  result.options = options;
  result.names = case_names(matches);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const MatchedCase& match = matches[i];
    if (match.baseline == nullptr || match.current == nullptr) {
      result.rows.push_back(missing_case(match, i));
      continue;
    }
    if (!match.differing.empty())
      result.notes.push_back(fmt::format("FORCED {}: {}", result.names[i], fmt::join(match.differing, ", ")));
    std::vector<const Metric*> metrics = judged_metrics(*match.baseline);
    for (const Metric* extra : judged_metrics(*match.current)) {
      if (std::none_of(metrics.begin(), metrics.end(),
                       [&](const Metric* m) { return m->name == extra->name; }))
        metrics.push_back(extra);
    }
    const double step = median_step(*match.baseline);
    for (const Metric* metric : metrics) {
      ComparisonRow row;
      row.match = i;
      row.metric = metric->name;
      row.unit = metric->unit;
      row.band = options.bands.of(metric->name);
      row.floor = metric->unit == "s" ? options.floor * step : 0.0;
      row.headline = metric->name == "step_seconds" || metric->name == "seconds";
      if (measure(row, match, *metric, options)) result.rows.push_back(std::move(row));
    }
  }
  result.tests = std::count_if(result.rows.begin(), result.rows.end(),
                               [](const ComparisonRow& row) { return !std::isnan(row.slowdown); });
  for (ComparisonRow& row : result.rows) {
    judge(row, options, result.tests);
    if (row.verdict == ChangeVerdict::unknown && options.strict) {
      row.verdict = ChangeVerdict::fail;
      row.note += " (--strict: UNKNOWN fails)";
    }
  }
  if (!baseline.ignored.empty() || !current.ignored.empty())
    result.notes.push_back(
        fmt::format("ignored *.json without measurements, and copies: {} of the baseline, {} of current",
                    baseline.ignored.size(), current.ignored.size()));
  note_machine(result);
  note_environment(result.notes, baseline, current);
  result.matches = std::move(matches);
  return result;
}

}  // namespace minigift
