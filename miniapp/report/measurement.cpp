#include "miniapp/report/measurement.hpp"

#include "kernels/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace minigift {

using Json = nlohmann::ordered_json;

std::string comparability_key(const Json& comparable) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : comparable.items())
    lines.push_back(name + "=" + value.dump() + "\n");
  std::sort(lines.begin(), lines.end());
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (const std::string& line : lines) {
    for (const char c : line) {
      hash ^= static_cast<unsigned char>(c);
      hash *= 0x100000001B3ull;
    }
  }
  return fmt::format("0x{:016x}", hash);
}

Json to_json(const Measurement& measurement) {
  Json json;
  json["key"] = comparability_key(measurement.comparable);
  json["comparable"] = measurement.comparable;
  Json& metrics = json["metrics"] = Json::object();
  for (const Metric& metric : measurement.metrics) {
    Json samples = Json::array();
    for (const double sample : metric.samples)
      samples.push_back(std::isfinite(sample) ? Json(sample) : Json(nullptr));
    metrics[metric.name] = {{"unit", metric.unit},
                            {"better", metric.better == Better::lower ? "lower" : "higher"},
                            {"samples", std::move(samples)}};
  }
  json["summary"] = measurement.summary;
  return json;
}

std::string keep_record(const std::string& folder, const std::string& case_name, const Json& record) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(folder, error);
  require_usage(!error, "results folder {}: cannot create: {}", folder, error.message());
  const std::string text = record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  const fs::path temporary = fs::path(folder) / fmt::format(".{}-{}.partial", case_name, getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wx");
  require_usage(file != nullptr, "{}: cannot create: {}", temporary.string(), std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  // A hard link fails where the name is taken: two runs that end together cannot take the same one.
  for (int number = 1; written && closed && number < 100000; ++number) {
    const fs::path path =
        fs::path(folder) / (number == 1 ? case_name + ".json" : fmt::format("{}-{}.json", case_name, number));
    if (link(temporary.c_str(), path.c_str()) == 0) {
      fs::remove(temporary, error);
      return path.string();
    }
    if (errno != EEXIST) break;
  }
  const int problem = errno;
  fs::remove(temporary, error);
  throw UsageError(
      fmt::format("results folder {}: cannot write {}.json: {}", folder, case_name, std::strerror(problem)));
}

}  // namespace minigift
