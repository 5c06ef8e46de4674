#include "miniapp/comm/reference_curve.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

namespace minigift {
namespace {

using Json = nlohmann::ordered_json;

double passes_of(ReferenceOperation operation, int ranks) {
  return (operation == ReferenceOperation::all_reduce ? 2.0 : 1.0) * (ranks - 1) / ranks;
}

/// Program names of nccl-tests, and titles of the OSU micro-benchmarks.
struct Title {
  const char* text;
  ReferenceOperation operation;
};
constexpr std::array<Title, 4> nccl_programs = {{{"all_reduce_perf", ReferenceOperation::all_reduce},
                                                 {"reduce_scatter_perf", ReferenceOperation::reduce_scatter},
                                                 {"all_gather_perf", ReferenceOperation::all_gather},
                                                 {"alltoall_perf", ReferenceOperation::all_to_all}}};
constexpr std::array<Title, 5> osu_titles = {{{"Allreduce", ReferenceOperation::all_reduce},
                                              {"Reduce_scatter", ReferenceOperation::reduce_scatter},
                                              {"Allgather", ReferenceOperation::all_gather},
                                              {"All-to-All", ReferenceOperation::all_to_all},
                                              {"Alltoall", ReferenceOperation::all_to_all}}};

/// A member of an object that must be there, of the type T.
template <class T>
T member(const Json& object, const std::string& key, const std::string& where) {
  require_usage(object.is_object() && object.contains(key), "{}: no {}", where, key);
  try {
    return object.at(key).get<T>();
  } catch (const Json::exception&) {
    throw UsageError(fmt::format("{}: {} has the wrong type: {}", where, key, object.at(key).dump()));
  }
}

double positive(const Json& object, const std::string& key, const std::string& where) {
  const auto value = member<double>(object, key, where);
  require_usage(std::isfinite(value) && value > 0, "{}: {} is {}, not a positive number", where, key, value);
  return value;
}

ReferenceOperation nccl_operation(const Json& root, const std::string& file) {
  const auto arguments = member<Json>(root, "args", file);
  require_usage(arguments.is_array() && !arguments.empty() && arguments[0].is_string(),
                "{}: args does not begin with the name of a program", file);
  const auto program = arguments[0].get<std::string>();
  for (const auto& [text, operation] : nccl_programs) {
    if (program.substr(program.find_last_of('/') + 1).starts_with(text)) return operation;
  }
  throw UsageError(fmt::format("{}: args[0] = {} is none of the collectives of [comm]", file, program));
}

/// Words of a line, without blanks.
std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

double number(const std::string& word, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  require_usage(
      error == std::errc() && end == word.data() + word.size() && std::isfinite(value) && value >= 0,
      "{}: \"{}\" is not a number", where, word);
  return value;
}

}  // namespace

std::vector<ReferenceCurve> parse_nccl_tests(const std::string& text, const std::string& file) {
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& error) {
    // nlohmann's own text has the line, but more than one of its own.
    const auto before = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    throw UsageError(fmt::format("{}:{}: not JSON", file, 1 + std::count(text.begin(), before, '\n')));
  }
  constexpr int understood = 3;
  const auto version = member<int>(root, "version", file);
  require_usage(version == understood, "{}: version = {}: only version {} of nccl-tests' JSON is understood",
                file, version, understood);
  const ReferenceOperation operation = nccl_operation(root, file);
  const auto results = member<Json>(root, "results", file);
  require_usage(results.is_array() && !results.empty(), "{}: results is empty", file);
  std::vector<ReferenceCurve> curves;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string where = fmt::format("{}: results[{}]", file, i);
    const auto type = member<std::string>(results[i], "type", where);
    auto curve = std::find_if(curves.begin(), curves.end(), [&](const auto& c) { return c.type == type; });
    if (curve == curves.end()) {
      curves.push_back({file, "nccl-tests", operation, type, {}});
      curve = curves.end() - 1;
    }
    // Runs in place alone leave null here.
    const bool in_place = results[i].contains("out_of_place") && results[i]["out_of_place"].is_null();
    const std::string key = in_place ? "in_place" : "out_of_place";
    const auto times = member<Json>(results[i], key, where);
    const auto size = member<std::int64_t>(results[i], "size", where);
    const double bandwidth = member<double>(times, "bus_bw", where + "." + key);
    require_usage(std::isfinite(bandwidth) && bandwidth >= 0, "{}.{}: bus_bw is {}", where, key, bandwidth);
    curve->points.push_back({size, 1e-6 * positive(times, "time", where + "." + key), 1e9 * bandwidth});
  }
  return curves;
}

std::vector<ReferenceCurve> parse_osu(const std::string& text, const std::string& file, int ranks) {
  std::optional<ReferenceCurve> curve;
  std::istringstream stream(text);
  std::string line;
  for (int number_of_line = 1; std::getline(stream, line); ++number_of_line) {
    const std::string where = fmt::format("{}:{}", file, number_of_line);
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0].starts_with('#')) {
      // "# OSU MPI Allreduce Latency Test", "# OSU MPI All-to-All Personalized Exchange Latency Test"
      const auto suite = std::find(words.begin(), words.end(), "OSU");
      if (suite == words.end()) {
        if (curve && line.find("Datatype:") != std::string::npos) {
          curve->type = words.back();
          if (curve->type.ends_with('.')) curve->type.pop_back();
        }
        continue;
      }
      require_usage(!curve, "{}: a second test; one file holds one", where);
      for (const auto& [title, operation] : osu_titles) {
        if (std::find(suite, words.end(), title) == words.end()) continue;
        curve = ReferenceCurve{file, "osu", operation, "", {}};
        break;
      }
      require_usage(curve.has_value(), "{}: none of the collectives of [comm]: {}", where, line);
      continue;
    }
    require_usage(curve.has_value(), "{}: numbers before a line that names an OSU test", where);
    require_usage(words.size() >= 2, "{}: expected a size and a time", where);
    const bool per_part = curve->operation == ReferenceOperation::all_gather ||
                          curve->operation == ReferenceOperation::all_to_all;
    const double size = number(words[0], where) * (per_part ? ranks : 1);
    const double seconds = 1e-6 * number(words[1], where);
    require_usage(seconds > 0, "{}: a time of 0", where);
    curve->points.push_back(
        {static_cast<std::int64_t>(size), seconds, size / seconds * passes_of(curve->operation, ranks)});
  }
  require_usage(curve.has_value(), "{}: neither JSON of nccl-tests nor the text of an OSU test", file);
  require_usage(!curve->points.empty(), "{}: no line of numbers", file);
  return {*curve};
}

std::vector<ReferenceCurve> read_reference(const std::string& path, int ranks) {
  std::ifstream stream(path);
  require_usage(stream.good(), "--reference {}: cannot read: {}", path, std::strerror(errno));
  std::ostringstream content;
  content << stream.rdbuf();
  const std::string text = content.str();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  require_usage(first != std::string::npos, "--reference {}: empty", path);
  return text[first] == '{' ? parse_nccl_tests(text, path) : parse_osu(text, path, ranks);
}

ReferenceOperation operation_of(CollectiveChoice collective) {
  if (outcome_of(collective) == Outcome::sum) return ReferenceOperation::all_reduce;
  if (outcome_of(collective) == Outcome::own_sum) return ReferenceOperation::reduce_scatter;
  const bool gathers =
      collective == CollectiveChoice::all_gather || collective == CollectiveChoice::mpi_all_gather;
  return gathers ? ReferenceOperation::all_gather : ReferenceOperation::all_to_all;
}

std::optional<ReferencePoint> point_for(const CommRow& row, const ReferenceCurve& curve) {
  if (curve.operation != operation_of(row.wanted.collective)) return std::nullopt;
  for (const ReferencePoint& point : curve.points) {
    if (point.size == row.wanted.size()) return point;
  }
  return std::nullopt;
}

Json to_json(const ReferenceCurve& curve) {
  Json points = Json::array();
  for (const ReferencePoint& point : curve.points)
    points.push_back(
        {{"size", point.size}, {"seconds", point.seconds}, {"bus_bandwidth", point.bus_bandwidth}});
  return {{"file", curve.file},
          {"tool", curve.tool},
          {"operation", std::string(name_of(curve.operation))},
          {"type", curve.type},
          {"points", std::move(points)}};
}

}  // namespace minigift
