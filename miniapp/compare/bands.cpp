#include "miniapp/compare/bands.hpp"

#include "kernels/error.hpp"
#include "miniapp/deck/deck.hpp"
#include "miniapp/deck/raw_value.hpp"
#include "miniapp/report/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace minigift {
namespace {

/// Metrics of every command: a file of bands serves them all.
std::vector<std::string> known_metrics() {
  std::vector<std::string> names = {
      "default", "step_seconds",        "exposed_seconds", "tokens_per_second", "gradient_bandwidth",
      "seconds", "algorithm_bandwidth", "bus_bandwidth"};
  for (const std::string_view phase : phase_names)
    names.push_back(fmt::format("{}_seconds", phase));
  return names;
}

double band_of(const RawEntry& entry) {
  double value = -1.0;
  if (const auto* real = std::get_if<double>(&entry.value.value)) value = *real;
  if (const auto* integer = std::get_if<std::int64_t>(&entry.value.value))
    value = static_cast<double>(*integer);
  require_usage(value >= 0.0 && value <= 10.0, "{}: {} is {}; a band is a number from 0 to 10, 0.05 for 5 %",
                entry.location, entry.key, entry.value.text);
  return value;
}

}  // namespace

double Bands::of(const std::string& metric) const {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? standard : found->second;
}

Bands read_bands(const std::string& file, const std::vector<std::string>& further_metrics) {
  std::ifstream stream(file);
  require_usage(stream.good(), "{}: cannot be read", file);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  std::vector<std::string> known = known_metrics();
  known.insert(known.end(), further_metrics.begin(), further_metrics.end());
  Bands bands;
  bands.file = file;
  for (const RawEntry& section : parse_toml(text, file)) {
    require_usage(section.key == "bands" && section.value.table() != nullptr,
                  "{}: unknown '{}'; a file of bands has one table, [bands]", section.location, section.key);
    for (const RawEntry& entry : *section.value.table()) {
      require_usage(std::find(known.begin(), known.end(), entry.key) != known.end(),
                    "{}: unknown metric '{}'{}", entry.location, entry.key, nearest_name(entry.key, known));
      if (entry.key == "default") {
        bands.standard = band_of(entry);
      } else {
        bands.metrics[entry.key] = band_of(entry);
      }
    }
  }
  return bands;
}

std::string bands_file_of(const std::string& baseline) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder =
      fs::is_directory(baseline, error) ? fs::path(baseline) : fs::path(baseline).parent_path();
  const fs::path file = folder / "bands.toml";
  return fs::exists(file, error) ? file.string() : "";
}

}  // namespace minigift
