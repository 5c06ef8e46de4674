#pragma once
// Serial oracle for the linear layer y = x w^T. All matrices row-major.

#include <cstddef>
#include <vector>

namespace minigift::reference {

/// y(R,C_out) for x(R,C_in) and w(C_out,C_in).
inline std::vector<double> linear_forward(std::size_t R, std::size_t C_in, std::size_t C_out,
                                          const std::vector<double>& x, const std::vector<double>& w) {
  std::vector<double> y(R * C_out, 0.0);
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t o = 0; o < C_out; ++o)
      for (std::size_t i = 0; i < C_in; ++i)
        y[r * C_out + o] += x[r * C_in + i] * w[o * C_in + i];
  return y;
}

/// dx(R,C_in) = dy w.
inline std::vector<double> linear_backward_input(std::size_t R, std::size_t C_in, std::size_t C_out,
                                                 const std::vector<double>& dy,
                                                 const std::vector<double>& w) {
  std::vector<double> dx(R * C_in, 0.0);
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t o = 0; o < C_out; ++o)
      for (std::size_t i = 0; i < C_in; ++i)
        dx[r * C_in + i] += dy[r * C_out + o] * w[o * C_in + i];
  return dx;
}

/// dw(C_out,C_in) = dy^T x.
inline std::vector<double> linear_backward_weight(std::size_t R, std::size_t C_in, std::size_t C_out,
                                                  const std::vector<double>& dy,
                                                  const std::vector<double>& x) {
  std::vector<double> dw(C_out * C_in, 0.0);
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t o = 0; o < C_out; ++o)
      for (std::size_t i = 0; i < C_in; ++i)
        dw[o * C_in + i] += dy[r * C_out + o] * x[r * C_in + i];
  return dw;
}

}  // namespace minigift::reference
