#include "miniapp/compare/record_set.hpp"

#include "kernels/error.hpp"
#include "miniapp/report/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

namespace minigift {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json parse_file(const std::string& path) {
  std::ifstream file(path);
  require_usage(file.good(), "{}: cannot be read", path);
  try {
    return Json::parse(file);
  } catch (const Json::parse_error& error) {
    throw UsageError(fmt::format("{}: no JSON at byte {}: incomplete or damaged?", path, error.byte));
  }
}

/// Files to read in a folder, sorted, so that the order does not depend on the file system.
std::vector<std::string> json_files(const std::string& folder) {
  std::vector<std::string> paths;
  try {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && entry.path().extension() == ".json")
        paths.push_back(entry.path().string());
    }
  } catch (const fs::filesystem_error& error) {
    throw UsageError(fmt::format("{}: cannot be read: {}", folder, error.code().message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_record(const Json& json) {
  return json.is_object() && json.contains("schema_version") && json.contains("measurements");
}

void add_record(RecordSet& set, const Json& record, const std::string& file, bool allow_invalid) {
  const Json& version = record["schema_version"];
  require_usage(version.is_number_integer() && version <= run_schema_version,
                "{}: schema_version {}, this program reads up to {}", file, version.dump(),
                run_schema_version);
  require_usage(record.contains("valid") && record["valid"].is_boolean(),
                "{}: no record: \"valid\" is missing", file);
  require_usage(allow_invalid || record["valid"].get<bool>(),
                "{}: the run's result was INVALID, its times prove nothing (--allow-invalid compares them)",
                file);
  require_usage(record["measurements"].is_array(), "{}: no record: \"measurements\" is no array", file);
  set.files.push_back(file);
  set.environments.push_back(record.value("environment", Json::object()));
  int number = 0;
  for (const Json& json : record["measurements"]) {
    const std::string where = fmt::format("{}: measurement {}", file, ++number);
    Measurement measurement = measurement_from_json(json, where);
    const std::string key = comparability_key(measurement.comparable);
    auto found = std::find_if(set.cases.begin(), set.cases.end(),
                              [&](const MeasuredCase& known) { return known.key == key; });
    if (found == set.cases.end())
      found = set.cases.insert(set.cases.end(), MeasuredCase{key, measurement.comparable, {}, {}});
    found->runs.push_back(std::move(measurement));
    found->files.push_back(file);
  }
}

}  // namespace

Measurement measurement_from_json(const Json& json, const std::string& where) {
  require_usage(json.is_object() && json.contains("comparable") && json["comparable"].is_object() &&
                    json.contains("metrics") && json["metrics"].is_object(),
                "{} has no \"comparable\" and \"metrics\"", where);
  Measurement measurement;
  measurement.comparable = json["comparable"];
  for (const auto& [name, value] : measurement.comparable.items())
    require_usage(value.is_primitive(), "{}: comparable.{} is no scalar", where, name);
  const std::string key = comparability_key(measurement.comparable);
  require_usage(json.value("key", Json()) == key,
                "{}: its key is not that of its comparable values, {}: edited?", where, key);
  for (const auto& [name, value] : json["metrics"].items()) {
    const Json better = value.is_object() ? value.value("better", Json()) : Json();
    require_usage((better == "lower" || better == "higher") && value.value("unit", Json()).is_string() &&
                      value.value("samples", Json()).is_array(),
                  "{}: metric {} needs \"unit\", \"better\" (lower or higher) and \"samples\"", where, name);
    Metric metric;
    metric.name = name;
    metric.unit = value["unit"].get<std::string>();
    metric.better = better == "lower" ? Better::lower : Better::higher;
    for (const Json& sample : value["samples"]) {
      require_usage(sample.is_number() || sample.is_null(), "{}: metric {} has a sample {}", where, name,
                    sample.dump());
      metric.samples.push_back(sample.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                : sample.get<double>());
    }
    measurement.metrics.push_back(std::move(metric));
  }
  measurement.summary = json.value("summary", Json::object());
  return measurement;
}

RecordSet read_records(const std::string& path, bool allow_invalid) {
  RecordSet set;
  set.path = path;
  std::error_code error;
  const std::string run = (fs::path(path) / "run.json").string();
  const bool is_folder = fs::is_directory(path, error);
  if (is_folder && !fs::exists(run, error)) {
    std::set<std::string> seen;  // a copy of a record is no second run
    for (const std::string& file : json_files(path)) {
      const Json json = parse_file(file);
      if (is_record(json) && seen.insert(json.dump()).second) {
        add_record(set, json, file, allow_invalid);
      } else {
        set.ignored.push_back(file);
      }
    }
  } else {
    const std::string file = is_folder ? run : path;
    require_usage(fs::exists(file, error), "{}: no such file or folder", file);
    const Json json = parse_file(file);
    require_usage(is_record(json), "{}: no record with measurements (schema_version 2)", file);
    add_record(set, json, file, allow_invalid);
  }
  require_usage(!set.cases.empty(), "{}: no measurements in {} records ({} other *.json)", path,
                set.files.size(), set.ignored.size());
  return set;
}

}  // namespace minigift
