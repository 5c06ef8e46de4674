#pragma once
// Made-up records: what a step or collective benchmark would have measured, with noise as one likes.

#include "miniapp/compare/comparison.hpp"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace minigift::example {

using Json = nlohmann::ordered_json;

/// Independent log-normal samples about `median`, times a drift that neighbours share.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : random_(seed) {}
  double sample(double median, double noise) { return median * std::exp(noise * normal_(random_)); }
  /// A first-order autoregression of this correlation and standard deviation.
  std::vector<double> drift(int count, double correlation, double deviation) {
    std::vector<double> values;
    double state = deviation * normal_(random_);
    for (int i = 0; i < count; ++i) {
      values.push_back(std::exp(state));
      state = correlation * state + std::sqrt(1 - correlation * correlation) * deviation * normal_(random_);
    }
    return values;
  }
  std::vector<double> samples(int count, double median, double noise) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i)
      values.push_back(sample(median, noise));
    return values;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

inline Measurement step_measurement(const std::string& method, int ranks, std::vector<Metric> metrics) {
  Measurement measurement;
  measurement.comparable = {{"command", "step"}, {"model", "llama-16m"}, {"global_batch", 64},
                            {"method", method},  {"overlap", false},     {"ranks", ranks}};
  measurement.metrics = std::move(metrics);
  return measurement;
}

inline Metric seconds(const std::string& name, std::vector<double> samples) {
  return {name, "s", Better::lower, std::move(samples)};
}

inline Json record(const std::vector<Measurement>& measurements, bool valid = true) {
  Json json = {{"schema_version", 2},
               {"command", "step"},
               {"valid", valid},
               {"environment", {{"git", {{"commit", "abc"}, {"dirty", false}}}, {"mpi", "some MPI"}}}};
  json["measurements"] = Json::array();
  for (const Measurement& measurement : measurements)
    json["measurements"].push_back(to_json(measurement));
  return json;
}

inline void write(const std::string& path, const Json& json) {
  std::ofstream(path) << json.dump(1) << "\n";
}

inline RecordSet set_of(const std::vector<Measurement>& measurements, const std::string& path) {
  RecordSet set;
  set.path = path;
  for (const Measurement& measurement : measurements) {
    const std::string key = comparability_key(measurement.comparable);
    auto found =
        std::find_if(set.cases.begin(), set.cases.end(), [&](const auto& one) { return one.key == key; });
    if (found == set.cases.end())
      found = set.cases.insert(set.cases.end(), MeasuredCase{key, measurement.comparable, {}, {}});
    found->runs.push_back(measurement);
    found->files.push_back(path);
  }
  set.files = {path};
  set.environments = {Json::object()};
  return set;
}

}  // namespace minigift::example
