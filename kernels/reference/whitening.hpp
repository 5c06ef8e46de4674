#pragma once
// Serial oracles for transforms and gamma: dense matrices and definitions, in double.

#include <cmath>
#include <cstdint>
#include <vector>

namespace minigift::reference {

/// I + U diag(gain) U^T, basis U (d, r) row-major.
inline std::vector<double> low_rank_transform(const std::vector<double>& basis,
                                              const std::vector<double>& gain, std::int64_t d) {
  const auto r = static_cast<std::int64_t>(gain.size());
  std::vector<double> transform(static_cast<std::size_t>(d * d));
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < d; ++j) {
      double sum = i == j ? 1 : 0;
      for (std::int64_t l = 0; l < r; ++l)
        sum += basis[static_cast<std::size_t>(i * r + l)] * gain[static_cast<std::size_t>(l)] *
               basis[static_cast<std::size_t>(j * r + l)];
      transform[static_cast<std::size_t>(i * d + j)] = sum;
    }
  return transform;
}

/// a (m, k) times b (k, n), row-major.
inline std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::int64_t m,
                                   std::int64_t k, std::int64_t n) {
  std::vector<double> c(static_cast<std::size_t>(m * n), 0.0);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < n; ++j)
        c[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
  return c;
}

/// gamma by its definition: sqrt(sum_j ||(W T)_:j||^2 ||(T^{-1})_j:||^2) / ||W||_F, w (m, d).
inline double gamma(const std::vector<double>& w, const std::vector<double>& transform,
                    const std::vector<double>& inverse, std::int64_t m, std::int64_t d) {
  const std::vector<double> u = product(w, transform, m, d, d);
  double numerator = 0, norm = 0;
  for (const double value : w)
    norm += value * value;
  for (std::int64_t j = 0; j < d; ++j) {
    double column = 0, row = 0;
    for (std::int64_t i = 0; i < m; ++i)
      column += u[static_cast<std::size_t>(i * d + j)] * u[static_cast<std::size_t>(i * d + j)];
    for (std::int64_t i = 0; i < d; ++i)
      row += inverse[static_cast<std::size_t>(j * d + i)] * inverse[static_cast<std::size_t>(j * d + i)];
    numerator += column * row;
  }
  return std::sqrt(numerator / norm);
}

}  // namespace minigift::reference
