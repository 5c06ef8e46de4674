#pragma once
// Serial oracle for the rotary position embedding, half-split layout.

#include <cmath>
#include <cstddef>
#include <vector>

namespace minigift::reference {

/// Each pair (j, j + D/2) of each head of x(B*T, heads*D), turned by direction * t * theta^(-2j/D) at
/// position t. direction = 1 is the forward pass, -1 the backward pass.
inline std::vector<double> rope(std::size_t B, std::size_t T, std::size_t heads, std::size_t D, double theta,
                                double direction, const std::vector<double>& x) {
  std::vector<double> turned(x.size());
  for (std::size_t r = 0; r < B * T; ++r) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t j = 0; j < D / 2; ++j) {
        const double frequency = std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(D));
        const double angle = direction * static_cast<double>(r % T) * frequency;
        const std::size_t first = r * heads * D + h * D + j, second = first + D / 2;
        turned[first] = x[first] * std::cos(angle) - x[second] * std::sin(angle);
        turned[second] = x[first] * std::sin(angle) + x[second] * std::cos(angle);
      }
    }
  }
  return turned;
}

}  // namespace minigift::reference
