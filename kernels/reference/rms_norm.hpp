#pragma once
// Serial oracle for root-mean-square normalisation.

#include <cmath>
#include <cstddef>
#include <vector>

namespace minigift::reference {

struct RmsNorm {
  std::vector<double> y;            // (R,C)
  std::vector<double> inverse_rms;  // (R)
};

inline RmsNorm rms_norm_forward(std::size_t R, std::size_t C, const std::vector<double>& x,
                                const std::vector<double>& w, double epsilon) {
  RmsNorm result;
  for (std::size_t r = 0; r < R; ++r) {
    double squares = 0;
    for (std::size_t c = 0; c < C; ++c)
      squares += x[r * C + c] * x[r * C + c];
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(C) + epsilon);
    result.inverse_rms.push_back(inverse);
    for (std::size_t c = 0; c < C; ++c)
      result.y.push_back(w[c] * x[r * C + c] * inverse);
  }
  return result;
}

struct RmsNormGradient {
  std::vector<double> dx;  // (R,C)
  std::vector<double> dw;  // (C)
};

/// Straight from the quotient: y_c = w_c x_c i with i = (mean(x^2) + epsilon)^(-1/2), so that
/// dy_c/dx_j = w_c i [c == j] - w_c x_c i^3 x_j / C.
inline RmsNormGradient rms_norm_backward(std::size_t R, std::size_t C, const std::vector<double>& x,
                                         const std::vector<double>& w, const std::vector<double>& inverse_rms,
                                         const std::vector<double>& dy) {
  RmsNormGradient result{std::vector<double>(R * C, 0.0), std::vector<double>(C, 0.0)};
  for (std::size_t r = 0; r < R; ++r) {
    const double i = inverse_rms[r];
    double dot = 0;
    for (std::size_t c = 0; c < C; ++c)
      dot += dy[r * C + c] * w[c] * x[r * C + c];
    for (std::size_t j = 0; j < C; ++j) {
      result.dx[r * C + j] =
          w[j] * dy[r * C + j] * i - dot * i * i * i * x[r * C + j] / static_cast<double>(C);
      result.dw[j] += dy[r * C + j] * x[r * C + j] * i;
    }
  }
  return result;
}

}  // namespace minigift::reference
