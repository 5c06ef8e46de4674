#include "miniapp/compare/comparison_report.hpp"
#include "miniapp/report/json_number.hpp"

#include <fmt/format.h>

#include <cmath>

namespace minigift {
namespace {

using Json = nlohmann::ordered_json;

const MeasuredCase& shown_case(const MatchedCase& match) {
  return match.baseline != nullptr ? *match.baseline : *match.current;
}

/// Text inside an XML attribute or element. What XML 1.0 cannot hold becomes '?'.
std::string xml_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return result;
}

/// "step_seconds: 100 s in the baseline, 110 s now, ..."
std::string sentence(const ComparisonRow& row) {
  if (row.metric.empty()) return row.note;
  std::string text = fmt::format("{}: baseline {:.6g} {}, current {:.6g} {}", row.metric, row.baseline,
                                 row.unit, row.current, row.unit);
  if (std::isfinite(row.slowdown))
    text += fmt::format(", worse by {:+.2f} % ({:+.2f} to {:+.2f}), band {:g} %", 100 * (row.slowdown - 1),
                        100 * (row.interval.low - 1), 100 * (row.interval.high - 1), 100 * row.band);
  return row.note.empty() ? text : text + "; " + row.note;
}

}  // namespace

Json to_json(const Comparison& comparison) {
  const ComparisonOptions& options = comparison.options;
  Json json;
  json["compare_version"] = 1;
  json["baseline"] = comparison.baseline_path;
  json["current"] = comparison.current_path;
  json["options"] = {{"bands_file", options.bands.file.empty() ? Json(nullptr) : Json(options.bands.file)},
                     {"default_band", options.bands.standard},
                     {"floor", options.floor},
                     {"least_samples", options.least_samples},
                     {"strict", options.strict},
                     {"false_alarm", options.false_alarm},
                     {"tests", comparison.tests}};
  for (const ChangeVerdict verdict :
       {ChangeVerdict::pass, ChangeVerdict::warn, ChangeVerdict::fail, ChangeVerdict::unknown})
    json["counts"][std::string(verdict_word(verdict))] = comparison.count(verdict);
  json["notes"] = comparison.notes;
  Json& rows = json["rows"] = Json::array();
  for (const ComparisonRow& row : comparison.rows) {
    const MatchedCase& match = comparison.matches[row.match];
    rows.push_back({{"case", comparison.names[row.match]},
                    {"comparable", shown_case(match).comparable},
                    {"forced", match.differing},
                    {"metric", row.metric.empty() ? Json(nullptr) : Json(row.metric)},
                    {"unit", row.unit},
                    {"baseline", json_number(row.baseline)},
                    {"current", json_number(row.current)},
                    {"slowdown", json_number(row.slowdown)},
                    {"slowdown_low", json_number(row.interval.low)},
                    {"slowdown_high", json_number(row.interval.high)},
                    {"chance", json_number(row.chance)},
                    {"band", row.band},
                    {"floor", row.floor},
                    {"baseline_runs", row.baseline_runs},
                    {"current_runs", row.current_runs},
                    {"baseline_samples", row.baseline_samples},
                    {"current_samples", row.current_samples},
                    {"verdict", verdict_word(row.verdict)},
                    {"note", row.note}});
  }
  return json;
}

std::string junit_xml(const Comparison& comparison) {
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"minigift compare\" "
      "tests=\"{}\" "
      "failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
      comparison.rows.size(), comparison.count(ChangeVerdict::fail),
      comparison.count(ChangeVerdict::unknown));
  for (const ComparisonRow& row : comparison.rows) {
    const Json& comparable = shown_case(comparison.matches[row.match]).comparable;
    const std::string what = xml_text(sentence(row));
    text += fmt::format("<testcase classname=\"{}\" name=\"{}, {} ranks: {}\">",
                        xml_text("minigift." + comparable.value("command", Json("run")).get<std::string>()),
                        xml_text(comparison.names[row.match]), comparable.value("ranks", Json("?")).dump(),
                        row.metric.empty() ? "case" : xml_text(row.metric));
    if (row.verdict == ChangeVerdict::fail) {
      text += fmt::format("<failure message=\"{}\"/>", what);
    } else if (row.verdict == ChangeVerdict::unknown) {
      text += fmt::format("<skipped message=\"{}\"/>", what);
    } else {
      text += fmt::format("<system-out>{}: {}</system-out>", verdict_word(row.verdict), what);
    }
    text += "</testcase>\n";
  }
  return text + "</testsuite>\n</testsuites>\n";
}

}  // namespace minigift
