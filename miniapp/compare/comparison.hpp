#pragma once
// Baseline against current: one row per case and metric, each with its verdict.

#include "miniapp/compare/bands.hpp"
#include "miniapp/compare/matching.hpp"
#include "miniapp/report/statistics.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minigift {

/// unknown: not judged, because one side or too many samples are missing.
enum class ChangeVerdict { pass, warn, fail, unknown };
inline constexpr std::size_t change_verdict_count = 4;
/// "PASS", "WARN", "FAIL", "UNKNOWN"
std::string_view verdict_word(ChangeVerdict verdict);

struct ComparisonOptions {
  Bands bands = {};
  double floor = 0.01;  ///< smallest change of a time that can fail, as a fraction of the median step
  std::int64_t least_samples = 5;  ///< finite samples that each side needs
  bool strict = false;             ///< unknown becomes fail
  double false_alarm = 0.05;       ///< chance that noise alone passes the rank test in any row
  int resamples = bootstrap_resamples;
};

/// Medians, and the interval, are of the samples that are finite and, for a time that is 0 in iterations
/// without the phase, not 0.
struct ComparisonRow {
  std::size_t match = 0;  ///< index of the case
  std::string metric;     ///< empty: the whole case is missing on one side
  std::string unit;
  double baseline = 0;  ///< median; NaN without samples
  double current = 0;
  double slowdown = 0;  ///< above 1 is worse, whatever `better` says; infinite if the baseline never ran it
  Interval interval = {};  ///< of the slowdown
  double chance = 1;       ///< larger_by_chance, in the direction of worse
  double band = 0;
  double floor = 0;  ///< in the metric's unit; 0 for none
  std::int64_t baseline_runs = 0, current_runs = 0;
  std::int64_t baseline_samples = 0, current_samples = 0;
  ChangeVerdict verdict = ChangeVerdict::unknown;
  std::string note = {};
  bool headline = false;  ///< the case's own time: shown even if it passes
};

struct Comparison {
  std::string baseline_path, current_path;
  ComparisonOptions options;
  std::vector<MatchedCase> matches;
  std::vector<std::string> names;   ///< of the matches
  std::vector<ComparisonRow> rows;  ///< in the order of the matches and their metrics
  std::int64_t tests = 0;           ///< rows whose samples were tested: what false_alarm is divided by
  std::vector<std::string> notes;   ///< what else differs or should be known, one line each

  std::int64_t count(ChangeVerdict verdict) const;
};

/// Judges every metric of every match. The result points into both sets.
Comparison compare_records(const RecordSet& baseline, const RecordSet& current,
                           std::vector<MatchedCase> matches, const ComparisonOptions& options);

}  // namespace minigift
