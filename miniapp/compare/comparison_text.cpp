#include "miniapp/compare/comparison_report.hpp"
#include "miniapp/report/table.hpp"

#include <fmt/format.h>

#include <cmath>

namespace minigift {
namespace {

std::string percent(double slowdown) {
  if (std::isinf(slowdown)) return "new";
  return std::isnan(slowdown) ? "-" : fmt::format("{:+.1f}", 100.0 * (slowdown - 1.0));
}

std::string interval_text(const Interval& interval) {
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return "-";
  return fmt::format("{} to {}", percent(interval.low), percent(interval.high));
}

/// A median with its unit's customary size: times in milliseconds.
std::string value_text(double value, const std::string& unit) {
  if (!std::isfinite(value)) return "-";
  return unit == "s" ? fmt::format("{:.4g} ms", 1e3 * value) : cell_scaled(value) + unit;
}

/// "20", or "3 x 20" for three runs with 60 samples; unequal sides one after the other.
std::string samples_text(const ComparisonRow& row) {
  const auto side = [](std::int64_t runs, std::int64_t samples) {
    return runs > 1 ? fmt::format("{} in {} runs", samples, runs) : fmt::format("{}", samples);
  };
  const std::string before = side(row.baseline_runs, row.baseline_samples);
  const std::string after = side(row.current_runs, row.current_samples);
  return before == after ? before : before + " / " + after;
}

std::string ranks_text(const MatchedCase& match) {
  const auto& comparable = (match.baseline != nullptr ? match.baseline : match.current)->comparable;
  return comparable.contains("ranks") ? comparable["ranks"].dump() : "-";
}

Table empty_table() {
  return Table({{"case", "", Align::left},
                {"ranks"},
                {"metric", "", Align::left},
                {"baseline"},
                {"current"},
                {"worse by", "%"},
                {"95 % interval", "%"},
                {"band", "%"},
                {"samples"},
                {"verdict", "", Align::left},
                {"note", "", Align::left}});
}

void add_row(Table& table, const Comparison& comparison, const ComparisonRow& row) {
  table.add_row({comparison.names[row.match], ranks_text(comparison.matches[row.match]),
                 row.metric.empty() ? "(all)" : row.metric, value_text(row.baseline, row.unit),
                 value_text(row.current, row.unit), percent(row.slowdown), interval_text(row.interval),
                 row.metric.empty() ? "-" : fmt::format("{:g}", 100.0 * row.band), samples_text(row),
                 std::string(verdict_word(row.verdict)), row.note});
}

}  // namespace

std::string comparison_text(const Comparison& comparison, bool all) {
  const ComparisonOptions& options = comparison.options;
  std::string text = fmt::format("baseline  {}\ncurrent   {}\nbands     {}, {:g} % unless named there\n\n",
                                 comparison.baseline_path, comparison.current_path,
                                 options.bands.file.empty() ? "built in" : options.bands.file,
                                 100.0 * options.bands.standard);
  Table table = empty_table(), failures = empty_table();
  std::size_t hidden = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (all || row.headline || row.verdict != ChangeVerdict::pass) {
      add_row(table, comparison, row);
    } else {
      ++hidden;
    }
    if (row.verdict == ChangeVerdict::fail) add_row(failures, comparison, row);
  }
  text += table.text();
  if (hidden > 0) text += fmt::format("{} more rows PASS (--all shows them)\n", hidden);
  text += fmt::format(
      "worse by: of the medians. FAIL: the interval lies above the band, the change is above {:g} % of the "
      "median step, and noise\nalone would do so in any of {} rows with a chance below {:g}.\n",
      100.0 * options.floor, comparison.tests, options.false_alarm);
  for (const std::string& note : comparison.notes)
    text += fmt::format("NOTE {}\n", note);
  if (comparison.count(ChangeVerdict::fail) > 0) text += "\nregressions:\n" + failures.text();
  return text + fmt::format("COMPARE {} PASS, {} WARN, {} FAIL, {} UNKNOWN\n",
                            comparison.count(ChangeVerdict::pass), comparison.count(ChangeVerdict::warn),
                            comparison.count(ChangeVerdict::fail), comparison.count(ChangeVerdict::unknown));
}

}  // namespace minigift
