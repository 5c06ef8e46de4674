#pragma once
// The measurements of one side of a comparison, read from records (run.json, kept results).

#include "miniapp/report/measurement.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// All runs of one case: the measurements with one comparability key.
struct MeasuredCase {
  std::string key;
  nlohmann::ordered_json comparable;
  std::vector<Measurement> runs;   ///< in the order of the files
  std::vector<std::string> files;  ///< of each run
};

struct RecordSet {
  std::string path;                                  ///< as the user named it
  std::vector<MeasuredCase> cases;                   ///< in order of first appearance
  std::vector<std::string> files;                    ///< the records
  std::vector<nlohmann::ordered_json> environments;  ///< of each record
  std::vector<std::string> ignored;  ///< *.json found in the folder that hold no measurements, and copies
};

/// Reads `path`: a record; a folder with run.json, that record alone; another folder, every *.json in and
/// below it. Throws UsageError naming the file for one that cannot be read, is no JSON, contradicts itself,
/// was written by a later program, or, unless `allow_invalid`, is of a run whose result was not valid; and if
/// there is no measurement at all.
RecordSet read_records(const std::string& path, bool allow_invalid);

/// The inverse of to_json(Measurement); samples that are null become NaN. Throws UsageError beginning with
/// `where`.
Measurement measurement_from_json(const nlohmann::ordered_json& json, const std::string& where);

}  // namespace minigift
