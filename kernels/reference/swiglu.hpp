#pragma once
// Serial oracle for SwiGLU.

#include <cmath>
#include <cstddef>
#include <vector>

namespace minigift::reference {

inline std::vector<double> swiglu_forward(const std::vector<double>& gate, const std::vector<double>& up) {
  std::vector<double> out;
  for (std::size_t i = 0; i < gate.size(); ++i)
    out.push_back(gate[i] / (1 + std::exp(-gate[i])) * up[i]);
  return out;
}

struct SwigluGradient {
  std::vector<double> d_gate, d_up;
};

inline SwigluGradient swiglu_backward(const std::vector<double>& gate, const std::vector<double>& up,
                                      const std::vector<double>& d_out) {
  SwigluGradient result;
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double e = std::exp(-gate[i]);
    const double sigmoid = 1 / (1 + e);
    const double derivative = sigmoid + gate[i] * e * sigmoid * sigmoid;
    result.d_gate.push_back(d_out[i] * up[i] * derivative);
    result.d_up.push_back(d_out[i] * gate[i] * sigmoid);
  }
  return result;
}

}  // namespace minigift::reference
