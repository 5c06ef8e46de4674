#include "tests/gpu/step_record.hpp"

#include "kernels/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

namespace minigift {
namespace {

using Json = nlohmann::ordered_json;

void write_floats(const std::string& path, const std::vector<float>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
  file.close();
  require(file.good(), "{}: cannot be written", path);
}

std::vector<float> read_floats(const std::string& path, std::int64_t count) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  require(file.good(), "{}: cannot be read", path);
  const auto bytes = static_cast<std::int64_t>(file.tellg());
  require(bytes == 4 * count, "{}: {} bytes, but step.json lists {} values of 4 bytes", path, bytes, count);
  std::vector<float> values(static_cast<std::size_t>(count));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), bytes);
  require(file.good(), "{}: cannot be read", path);
  return values;
}

/// ||a - b|| / ||b|| over one tensor; infinite where one is not finite, 0 where both are zero.
double relative_difference(const std::vector<float>& a, const std::vector<float>& b,
                           const RecordedTensor& tensor) {
  double difference = 0, norm = 0;
  for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
    const auto x = static_cast<double>(a[static_cast<std::size_t>(i)]);
    const auto y = static_cast<double>(b[static_cast<std::size_t>(i)]);
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(difference) || !std::isfinite(norm)) return infinity;
  if (difference == 0) return 0;
  return norm > 0 ? std::sqrt(difference / norm) : infinity;
}

bool compare_kind(const char* kind, const std::vector<float>& a, const std::vector<float>& b,
                  const std::vector<RecordedTensor>& tensors, double bound) {
  bool within = true;
  double worst = -1;
  std::string worst_name;
  for (const RecordedTensor& tensor : tensors) {
    const double difference = relative_difference(a, b, tensor);
    if (difference > worst) {
      worst = difference;
      worst_name = tensor.name;
    }
    if (difference <= bound) continue;
    within = false;
    fmt::print("  {} of {}: relative L2 difference {:.2e} > {:.2e}\n", kind, tensor.name, difference, bound);
  }
  fmt::print("{:<9} {} tensors, worst {:.2e} ({}), bound {:.2e}: {}\n", kind, tensors.size(), worst,
             worst_name, bound, within ? "PASS" : "FAIL");
  return within;
}

}  // namespace

void write_step(const std::string& directory, const StepRecord& step) {
  std::error_code error;
  require(std::filesystem::create_directories(directory, error), "{}: cannot be made, or exists: {}",
          directory, error ? error.message() : "it is not overwritten");
  Json json = {{"model", step.model},     {"compute", step.compute}, {"method", step.method},
               {"backend", step.backend}, {"loss", step.loss},       {"values", step.gradients.size()}};
  for (const RecordedTensor& tensor : step.tensors)
    json["tensors"].push_back({{"name", tensor.name}, {"offset", tensor.offset}, {"count", tensor.count}});
  std::ofstream file(directory + "/step.json");
  file << json.dump(1) << '\n';
  file.close();
  require(file.good(), "{}/step.json: cannot be written", directory);
  write_floats(directory + "/gradients.f32", step.gradients);
  write_floats(directory + "/updates.f32", step.updates);
}

StepRecord read_step(const std::string& directory) {
  const std::string path = directory + "/step.json";
  std::ifstream file(path);
  require(file.good(), "{}: cannot be read", path);
  StepRecord step;
  std::int64_t values = 0;
  try {
    const Json json = Json::parse(file);
    step.model = json.at("model");
    step.compute = json.at("compute");
    step.method = json.at("method");
    step.backend = json.at("backend");
    step.loss = json.at("loss");
    values = json.at("values");
    for (const Json& tensor : json.at("tensors"))
      step.tensors.push_back({tensor.at("name"), tensor.at("offset"), tensor.at("count")});
  } catch (const nlohmann::json::exception& error) {
    throw RuntimeError(fmt::format("{}: {}", path, error.what()));
  }
  for (const RecordedTensor& tensor : step.tensors) {
    require(tensor.offset >= 0 && tensor.count >= 0 && tensor.offset + tensor.count <= values,
            "{}: tensor {} lies outside of {} values", path, tensor.name, values);
  }
  step.gradients = read_floats(directory + "/gradients.f32", values);
  step.updates = read_floats(directory + "/updates.f32", values);
  return step;
}

StepBounds step_bounds(const std::string& compute) {
  if (compute == "fp32") return {1e-6, 2e-5, 1e-3};
  if (compute == "tf32") return {1e-4, 1e-2, 3e-1};
  require(compute == "bf16", "no bounds are known for compute {}", compute);
  return {1e-4, 2e-2, 3e-1};
}

bool compare_steps(const StepRecord& first, const StepRecord& second, const StepBounds& bounds) {
  const auto same = [](const char* what, const std::string& a, const std::string& b) {
    require(a == b, "the two steps have different {}: {} and {}", what, a, b);
  };
  same("models", first.model, second.model);
  same("compute", first.compute, second.compute);
  same("methods", first.method, second.method);
  require(first.tensors.size() == second.tensors.size() && first.gradients.size() == second.gradients.size(),
          "the two steps have {} and {} tensors", first.tensors.size(), second.tensors.size());
  for (std::size_t t = 0; t < first.tensors.size(); ++t)
    same("tensors", first.tensors[t].name, second.tensors[t].name);

  fmt::print("{}, compute {}, method {}\n  first   {}\n  second  {}\n", first.model, first.compute,
             first.method, first.backend, second.backend);
  const double loss = std::abs(first.loss - second.loss) / std::abs(second.loss);
  const bool loss_within = loss <= bounds.loss;
  fmt::print("loss      {:.6f} and {:.6f}, relative difference {:.2e}, bound {:.2e}: {}\n", first.loss,
             second.loss, loss, bounds.loss, loss_within ? "PASS" : "FAIL");
  const bool gradients =
      compare_kind("gradient", first.gradients, second.gradients, first.tensors, bounds.gradient);
  const bool updates = compare_kind("update", first.updates, second.updates, first.tensors, bounds.update);
  return loss_within && gradients && updates;
}

}  // namespace minigift
