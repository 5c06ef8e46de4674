#pragma once
// Rows of a study as flat JSON objects, the names of whose values are the columns of the CSV files: to gather
// rows of several ranks, and to write results.

#include "miniapp/fidelity/study.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace minigift {

nlohmann::ordered_json to_json(const OneStepRow& row);
nlohmann::ordered_json to_json(const AgeRow& row);
nlohmann::ordered_json to_json(const SumRow& row);
nlohmann::ordered_json to_json(const StudyResult& result);
/// Inverse of to_json, sums included.
StudyResult study_result_from_json(const nlohmann::ordered_json& json);

/// A header of the names, one line per row; numbers with all their digits, what was not measured empty.
template <class Row>
std::string to_csv(const std::vector<Row>& rows);

std::string csv_line(const nlohmann::ordered_json& object, bool names);

template <class Row>
std::string to_csv(const std::vector<Row>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto object = to_json(rows[i]);
    if (i == 0) text += csv_line(object, true);
    text += csv_line(object, false);
  }
  return text;
}

}  // namespace minigift
