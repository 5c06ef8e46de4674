#pragma once
// Serial oracle for softmax cross-entropy.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace minigift::reference {

struct CrossEntropy {
  std::vector<double> loss;      // (R)
  std::vector<double> d_logits;  // (R,V): softmax - onehot, times gradient_scale
};

inline CrossEntropy cross_entropy(std::size_t V, const std::vector<double>& logits,
                                  const std::vector<std::int32_t>& targets, double gradient_scale) {
  CrossEntropy result;
  for (std::size_t r = 0; r < targets.size(); ++r) {
    const double* row = logits.data() + r * V;
    const double maximum = *std::max_element(row, row + V);
    double sum = 0;
    for (std::size_t v = 0; v < V; ++v)
      sum += std::exp(row[v] - maximum);
    const auto target = static_cast<std::size_t>(targets[r]);
    result.loss.push_back(std::log(sum) + maximum - row[target]);
    for (std::size_t v = 0; v < V; ++v)
      result.d_logits.push_back((std::exp(row[v] - maximum) / sum - (v == target ? 1.0 : 0.0)) *
                                gradient_scale);
  }
  return result;
}

}  // namespace minigift::reference
