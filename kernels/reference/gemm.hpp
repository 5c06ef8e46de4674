#pragma once
// Serial oracle for gemm: plain loops in double, and the sum of magnitudes that bounds the rounding of any
// order.

#include "kernels/linalg/gemm.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace minigift::reference {

/// The exact-in-double product and, element by element, |alpha| |op(a)| |op(b)| + |beta| |c|.
struct Product {
  std::vector<double> value, magnitude;  // (m, n) row-major
};

/// a and b are row-major as stored, before op; c is (m, n).
inline Product gemm(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n,
                    std::int64_t k, double alpha, const std::vector<double>& a, const std::vector<double>& b,
                    double beta, const std::vector<double>& c) {
  const auto at = [](const std::vector<double>& values, std::int64_t index) {
    return values[static_cast<std::size_t>(index)];
  };
  Product product;
  product.value.resize(static_cast<std::size_t>(m * n));
  product.magnitude.resize(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        const double x = transpose_a == Transpose::yes ? at(a, l * m + i) : at(a, i * k + l);
        const double y = transpose_b == Transpose::yes ? at(b, j * k + l) : at(b, l * n + j);
        sum += x * y;
        magnitude += std::abs(x * y);
      }
      const auto index = static_cast<std::size_t>(i * n + j);
      product.value[index] = alpha * sum + (beta == 0 ? 0 : beta * c[index]);
      product.magnitude[index] = std::abs(alpha) * magnitude + (beta == 0 ? 0 : std::abs(beta * c[index]));
    }
  }
  return product;
}

}  // namespace minigift::reference
