#include "tests/model/golden.hpp"

#include "kernels/error.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace minigift {

Batch GoldenCase::batch() const {
  return make_tokens(token_stream, B, T, shape.vocabulary).batch(0, B);
}

GoldenCase read_golden(const std::string& name) {
  const std::string folder = MINIGIFT_GOLDEN_FOLDER;
  std::ifstream text(folder + "/golden.json");
  std::ifstream data(folder + "/golden.bin", std::ios::binary);
  require(text.good() && data.good(), "golden values are missing in {}", folder);
  const nlohmann::json index = nlohmann::json::parse(text);
  const nlohmann::json& entry = index.at("cases").at(name);
  const nlohmann::json& shape = entry.at("shape");

  GoldenCase golden;
  golden.shape = {.layers = shape.at("layers"),
                  .hidden = shape.at("hidden"),
                  .heads = shape.at("heads"),
                  .kv_heads = shape.at("kv_heads"),
                  .feed_forward = shape.at("feed_forward"),
                  .vocabulary = shape.at("vocabulary"),
                  .rope_theta = index.at("rope_theta"),
                  .rms_epsilon = index.at("rms_epsilon")};
  golden.B = shape.at("B");
  golden.T = shape.at("T");
  golden.loss = entry.at("loss");
  golden.steps = index.at("steps");
  golden.learning_rate = index.at("learning_rate");
  golden.clip_norm = index.at("clip_norm");
  golden.token_stream = index.at("token_stream");
  for (const nlohmann::json& tensor : entry.at("gradients")) {
    std::size_t count = 1;
    for (const nlohmann::json& extent : tensor.at("shape"))
      count *= extent.get<std::size_t>();
    std::vector<double> values(count);
    data.seekg(tensor.at("offset").get<std::int64_t>() * 8);
    data.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * 8));
    require(data.good(), "golden.bin is shorter than golden.json says");
    golden.gradients[tensor.at("name")] = std::move(values);
  }
  for (const auto& [optimizer, curve] : entry.at("curves").items())
    golden.curves[optimizer] = {curve.at("loss"), curve.at("gradient_norm")};
  return golden;
}

}  // namespace minigift
