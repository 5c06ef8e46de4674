#pragma once
// One measured case and all its samples: what `minigift compare` works on, whatever command measured it.

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace minigift {

/// Whether a smaller value of a metric is the better one.
enum class Better { lower, higher };

/// All samples of one metric, in the order in which they were taken. A sample is already the maximum over the
/// ranks (of a time).
struct Metric {
  std::string name;  ///< "step_seconds", "wire_seconds", ...
  std::string unit;  ///< "s", "B/s", "" ...
  Better better = Better::lower;
  std::vector<double> samples;
};

struct Measurement {
  /// Everything that must agree for two measurements to be comparable, one JSON scalar per name, no nesting:
  /// command, model, batch, method, format, ranks, nodes, ... The version of the software is no part of it.
  nlohmann::ordered_json comparable = nlohmann::ordered_json::object();
  std::vector<Metric> metrics;
  /// Numbers that are shown, not judged: bytes, errors, medians with their intervals.
  nlohmann::ordered_json summary = nlohmann::ordered_json::object();
};

/// {"key", "comparable", "metrics": {name: {"unit", "better", "samples"}}, "summary"}. A sample that is not
/// finite becomes null.
nlohmann::ordered_json to_json(const Measurement& measurement);

/// "0x…": 64-bit FNV-1a hash of the comparable names and values, sorted by name.
std::string comparability_key(const nlohmann::ordered_json& comparable);

/// A file name for a kept record: FOLDER/CASE.json, or CASE-2.json and so on where that exists. Written whole
/// or not at all; an existing file is never replaced. Returns the path. Throws UsageError if it cannot be
/// written.
std::string keep_record(const std::string& folder, const std::string& case_name,
                        const nlohmann::ordered_json& record);

}  // namespace minigift
