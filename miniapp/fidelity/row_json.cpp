#include "miniapp/fidelity/row_json.hpp"

#include "miniapp/report/csv_cell.hpp"
#include "miniapp/report/json_number.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace minigift {
namespace {

using Json = nlohmann::ordered_json;

double number_from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

void put(Json& json, const LayerLabel& label) {
  json["step"] = label.step;
  json["tensor"] = label.tensor;
  json["role"] = label.role;
  json["layer"] = label.layer;
}
LayerLabel label_from(const Json& json) {
  return {json.at("step"), json.at("tensor"), json.at("role"), json.at("layer")};
}

void put(Json& json, const ComparisonSums& sums) {
  json["rel_l2"] = json_number(sums.relative_l2());
  json["cosine"] = json_number(sums.cosine());
  json["max_error"] = json_number(sums.maximum);
  json["mse"] = json_number(sums.mean_square());
  json["norm_ratio"] = json_number(sums.norm_ratio());
  json["elements"] = sums.elements;
  json["sum_difference_squared"] = json_number(sums.difference);
  json["sum_reference_squared"] = json_number(sums.reference);
  json["sum_values_squared"] = json_number(sums.values);
  json["sum_product"] = json_number(sums.product);
}
ComparisonSums sums_from(const Json& json) {
  return {json.at("elements"),
          number_from(json.at("sum_difference_squared")),
          number_from(json.at("sum_reference_squared")),
          number_from(json.at("sum_values_squared")),
          number_from(json.at("sum_product")),
          number_from(json.at("max_error"))};
}

OneStepRow one_step_from(const Json& json) {
  OneStepRow row;
  row.label = label_from(json);
  row.transform = json.at("transform");
  row.format = json.at("format");
  row.sums = sums_from(json);
  row.gamma = {number_from(json.at("gamma_numerator")), number_from(json.at("gamma_norm_squared"))};
  row.muon_error = number_from(json.at("muon_error"));
  row.identity = json.at("identity");
  return row;
}

SumRow sum_from(const Json& json) {
  SumRow row;
  row.label = label_from(json);
  row.ranks = json.at("ranks");
  row.resampled = json.at("resampled");
  row.transform = json.at("transform");
  row.format = json.at("format");
  row.scheme = json.at("scheme");
  row.sums = sums_from(json);
  row.divergence = number_from(json.at("divergence"));
  return row;
}

template <class Row>
Json list(const std::vector<Row>& rows) {
  Json json = Json::array();
  for (const Row& row : rows)
    json.push_back(to_json(row));
  return json;
}

}  // namespace

Json to_json(const OneStepRow& row) {
  Json json;
  put(json, row.label);
  json["transform"] = row.transform;
  json["format"] = row.format;
  put(json, row.sums);
  json["gamma"] = json_number(gamma_or_nan(row.gamma));
  json["muon_error"] = json_number(row.muon_error);
  json["gamma_numerator"] = json_number(row.gamma.numerator);
  json["gamma_norm_squared"] = json_number(row.gamma.norm_squared);
  json["identity"] = row.identity;
  return json;
}

Json to_json(const AgeRow& row) {
  Json json = to_json(row.row);
  json["factor_step"] = row.factor_step;
  json["tokens"] = row.tokens;
  return json;
}

Json to_json(const SumRow& row) {
  Json json;
  put(json, row.label);
  json["ranks"] = row.ranks;
  json["resampled"] = row.resampled;
  json["transform"] = row.transform;
  json["format"] = row.format;
  json["scheme"] = row.scheme;
  put(json, row.sums);
  json["divergence"] = json_number(row.divergence);
  return json;
}

Json to_json(const StudyResult& result) {
  Json json;
  json["one_step"] = list(result.one_step);
  json["age"] = list(result.age);
  json["sums"] = list(result.sums);
  json["left_out"] = result.left_out;
  return json;
}

StudyResult study_result_from_json(const Json& json) {
  StudyResult result;
  for (const Json& row : json.at("one_step"))
    result.one_step.push_back(one_step_from(row));
  for (const Json& row : json.at("age"))
    result.age.push_back({one_step_from(row), row.at("factor_step"), row.at("tokens")});
  for (const Json& row : json.at("sums"))
    result.sums.push_back(sum_from(row));
  result.left_out = json.at("left_out").get<std::vector<std::string>>();
  return result;
}

std::string csv_line(const Json& object, bool names) {
  std::string line;
  bool first = true;
  for (const auto& [key, value] : object.items()) {
    if (!first) line += ',';
    first = false;
    std::string cell = key;
    if (!names)
      cell = value.is_string() ? value.get<std::string>() : value.is_null() ? std::string() : value.dump();
    line += csv_cell(cell);
  }
  return line + '\n';
}

}  // namespace minigift
