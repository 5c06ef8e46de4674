#pragma once
// Serial oracle for the sketch: plain loops in double.

#include <cstdint>
#include <vector>

namespace minigift::reference {

/// X^T (X Omega), x (R, d) and omega (d, k) row-major.
inline std::vector<double> sketch(const std::vector<double>& x, std::int64_t rows, std::int64_t d,
                                  const std::vector<double>& omega, std::int64_t k) {
  std::vector<double> y(static_cast<std::size_t>(d * k), 0.0);
  for (std::int64_t t = 0; t < rows; ++t)
    for (std::int64_t column = 0; column < k; ++column) {
      double projection = 0;
      for (std::int64_t i = 0; i < d; ++i)
        projection +=
            x[static_cast<std::size_t>(t * d + i)] * omega[static_cast<std::size_t>(i * k + column)];
      for (std::int64_t i = 0; i < d; ++i)
        y[static_cast<std::size_t>(i * k + column)] += x[static_cast<std::size_t>(t * d + i)] * projection;
    }
  return y;
}

}  // namespace minigift::reference
