#pragma once
// Serial oracle for Muon, in double: the iteration without transposing or folding, and the step as published.

#include "kernels/optim/muon.hpp"
#include "kernels/reference/whitening.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace minigift::reference {

inline std::vector<double> transposed(const std::vector<double>& a, std::int64_t m, std::int64_t n) {
  std::vector<double> b(a.size());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      b[static_cast<std::size_t>(j * m + i)] = a[static_cast<std::size_t>(i * n + j)];
  return b;
}

/// X <- a X + b (X X^T) X + c (X X^T)^2 X, from b / (||b||_F + epsilon), b (m, n) row-major.
inline std::vector<double> newton_schulz(std::vector<double> x, std::int64_t m, std::int64_t n,
                                         const std::vector<std::array<float, 3>>& coefficients,
                                         double epsilon) {
  double norm = 0;
  for (const double value : x)
    norm += value * value;
  for (double& value : x)
    value /= std::sqrt(norm) + epsilon;
  for (const auto& [a, b, c] : coefficients) {
    const std::vector<double> gram = product(x, transposed(x, m, n), m, n, m);
    const std::vector<double> first = product(gram, x, m, m, n), second = product(gram, first, m, m, n);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<double>(a) * x[i] + static_cast<double>(b) * first[i] +
             static_cast<double>(c) * second[i];
  }
  return x;
}

struct MuonState {
  std::vector<double> weight, momentum;  // (m, n)
};

inline void muon_step(MuonState& state, const std::vector<double>& gradient, std::int64_t m, std::int64_t n,
                      double learning_rate, double gradient_scale, const MuonOptions& options) {
  const double beta = options.momentum;
  std::vector<double> update(gradient.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = (options.ema_momentum ? 1 - beta : 1) * gradient_scale * gradient[i];
    state.momentum[i] = beta * state.momentum[i] + g;
    update[i] = options.nesterov ? g + beta * state.momentum[i] : state.momentum[i];
  }
  update = newton_schulz(update, m, n, options.coefficients, options.epsilon);
  const auto rows = static_cast<double>(m), columns = static_cast<double>(n);
  const double scale = options.scale == UpdateScale::shape      ? std::sqrt(std::max(1.0, rows / columns))
                       : options.scale == UpdateScale::spectral ? std::sqrt(std::max(rows, columns))
                                                                : std::sqrt(rows / columns);
  for (std::size_t i = 0; i < update.size(); ++i) {
    state.weight[i] *= 1 - learning_rate * static_cast<double>(options.weight_decay);
    state.weight[i] -= learning_rate * scale * static_cast<double>(options.extra_scale) * update[i];
  }
}

}  // namespace minigift::reference
