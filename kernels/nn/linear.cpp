#include "kernels/nn/linear.hpp"

#include "kernels/format/bfloat16.hpp"
#include "kernels/linalg/gemm.hpp"

namespace minigift {

template <class In, class S>
void linear_forward(const Matrix<const In>& x, const Matrix<const In>& w, const Matrix<S>& y) {
  gemm<In, S>(Transpose::no, Transpose::yes, S(1), x, w, S(0), y);
}

template <class In, class S>
void linear_backward_input(const Matrix<const In>& dy, const Matrix<const In>& w,
                           std::type_identity_t<S> beta, const Matrix<S>& dx) {
  gemm<In, S>(Transpose::no, Transpose::no, S(1), dy, w, beta, dx);
}

template <class In, class S>
void linear_backward_weight(const Matrix<const In>& dy, const Matrix<const In>& x, const Matrix<S>& dw) {
  gemm<In, S>(Transpose::yes, Transpose::no, S(1), dy, x, S(1), dw);
}

#define MINIGIFT_INSTANTIATE(In, S)                                                                        \
  template void linear_forward<In, S>(const Matrix<const In>&, const Matrix<const In>&, const Matrix<S>&); \
  template void linear_backward_input<In, S>(const Matrix<const In>&, const Matrix<const In>&,             \
                                             std::type_identity_t<S>, const Matrix<S>&);                   \
  template void linear_backward_weight<In, S>(const Matrix<const In>&, const Matrix<const In>&,            \
                                              const Matrix<S>&);
MINIGIFT_INSTANTIATE(float, float)
MINIGIFT_INSTANTIATE(double, double)
MINIGIFT_INSTANTIATE(bfloat16, float)

}  // namespace minigift
