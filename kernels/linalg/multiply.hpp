#pragma once
// What gemm.cpp asks of the one of gemm_host.cpp and gemm_cuda.cpp that is compiled. Only kernels/linalg
// includes this.

#include "kernels/format/bfloat16.hpp"
#include "kernels/linalg/product_shape.hpp"
#include "kernels/view.hpp"

namespace minigift::linalg {

/// c = alpha op(a) op(b) + beta c for contiguous matrices of checked shapes, all extents positive.
/// Instantiated for (float, float), (double, double) and (bfloat16, float).
template <class In, class Out>
void multiply(const ProductShape& shape, Out alpha, const Matrix<const In>& a, const Matrix<const In>& b,
              Out beta, const Matrix<Out>& c);

/// Throws UsageError unless products of float factors can be formed in TF32.
void require_tf32();

}  // namespace minigift::linalg
