#include "kernels/nn/swiglu.hpp"

#include "kernels/nn/row.hpp"

namespace minigift {

template <class S, class Y>
void swiglu_forward(const Matrix<const S>& gate, const Matrix<const S>& up, const Matrix<Y>& out) {
  const std::int64_t R = extent(out, 0), F = extent(out, 1);
  require_shape("swiglu_forward", "gate", gate, R, F);
  require_shape("swiglu_forward", "up", up, R, F);
  const S* const g = gate.data();
  const S* const u = up.data();
  Y* const result = out.data();
  for_each_element(
      "minigift::swiglu_forward", R * F, KOKKOS_LAMBDA(const std::int64_t i) {
        const S sigmoid = S(1) / (S(1) + math::exp(-g[i]));
        result[i] = stored_as<Y>(g[i] * sigmoid * u[i]);
      });
}

// With sigma = 1/(1 + exp(-gate)):
//   d_up = d_out * gate * sigma,   d_gate = d_out * up * sigma * (1 + gate * (1 - sigma)).
template <class S>
void swiglu_backward(const ConstMatrix<S>& gate, const ConstMatrix<S>& up, const ConstMatrix<S>& d_out,
                     const Matrix<S>& d_gate, const Matrix<S>& d_up) {
  const std::int64_t R = extent(d_out, 0), F = extent(d_out, 1);
  require_shape("swiglu_backward", "gate", gate, R, F);
  require_shape("swiglu_backward", "up", up, R, F);
  require_shape("swiglu_backward", "d_gate", d_gate, R, F);
  require_shape("swiglu_backward", "d_up", d_up, R, F);
  const S* const gate_data = gate.data();
  const S* const up_data = up.data();
  const S* const d_out_data = d_out.data();
  S* const d_gate_data = d_gate.data();
  S* const d_up_data = d_up.data();
  for_each_element(
      "minigift::swiglu_backward", R * F, KOKKOS_LAMBDA(const std::int64_t i) {
        const S g = gate_data[i], u = up_data[i], d = d_out_data[i];
        const S sigmoid = S(1) / (S(1) + math::exp(-g));
        d_up_data[i] = d * g * sigmoid;
        d_gate_data[i] = d * u * sigmoid * (S(1) + g * (S(1) - sigmoid));
      });
}

#define MINIGIFT_INSTANTIATE(S)                                                                         \
  template void swiglu_forward<S, S>(const Matrix<const S>&, const Matrix<const S>&, const Matrix<S>&); \
  template void swiglu_backward<S>(const ConstMatrix<S>&, const ConstMatrix<S>&, const ConstMatrix<S>&, \
                                   const Matrix<S>&, const Matrix<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
template void swiglu_forward<float, bfloat16>(const Matrix<const float>&, const Matrix<const float>&,
                                              const Matrix<bfloat16>&);

}  // namespace minigift
