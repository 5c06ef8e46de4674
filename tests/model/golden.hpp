#pragma once
// The values of tests/golden: what an independent PyTorch implementation computed for small models.

#include "miniapp/model/shape.hpp"
#include "tests/model/fixture.hpp"

#include <map>
#include <string>
#include <vector>

namespace minigift {

struct GoldenCurve {
  std::vector<double> loss;           // before each update
  std::vector<double> gradient_norm;  // before clipping
};

struct GoldenCase {
  LlamaShape shape;
  std::int64_t B, T;
  double loss;
  std::map<std::string, std::vector<double>> gradients;  // by Hugging Face name, row-major
  std::map<std::string, GoldenCurve> curves;             // "adamw", "muon"
  std::int64_t steps;
  double learning_rate, clip_norm;
  std::int64_t token_stream;

  /// The batch the values were computed on.
  Batch batch() const;
};

/// "mha" or "gqa".
GoldenCase read_golden(const std::string& name);

}  // namespace minigift
