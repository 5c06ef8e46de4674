#pragma once
// Serial oracle for AdamW, in double, written as in the paper: moments, corrections, decay, step, one after
// another.

#include "kernels/optim/adamw.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace minigift::reference {

struct AdamWState {
  std::vector<double> parameter, m, v;
};

inline void adamw(AdamWState& state, const std::vector<double>& gradient, double learning_rate,
                  double gradient_scale, const AdamWOptions& options, std::int64_t step) {
  const double beta1 = options.beta1, beta2 = options.beta2;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = gradient_scale * gradient[i];
    state.m[i] = beta1 * state.m[i] + (1 - beta1) * g;
    state.v[i] = beta2 * state.v[i] + (1 - beta2) * g * g;
    const double m_hat = state.m[i] / (1 - std::pow(beta1, static_cast<double>(step)));
    const double v_hat = state.v[i] / (1 - std::pow(beta2, static_cast<double>(step)));
    state.parameter[i] -= learning_rate * static_cast<double>(options.weight_decay) * state.parameter[i];
    state.parameter[i] -= learning_rate * m_hat / (std::sqrt(v_hat) + static_cast<double>(options.epsilon));
  }
}

}  // namespace minigift::reference
