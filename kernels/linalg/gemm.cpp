// What products have in common on every device: checks of shapes, empty products, and the choice of the
// arithmetic. gemm_host.cpp or gemm_cuda.cpp multiplies.

#include "kernels/linalg/gemm.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/multiply.hpp"

namespace minigift {
namespace {

using linalg::ProductShape;

Fp32Products chosen = Fp32Products::ieee;

template <class View>
void require_contiguous(const View& view, const char* name) {
  require(view.size() == 0 || view.span_is_contiguous(),
          "matrix product: {} of shape ({}, {}) is not contiguous", name, view.extent(0), view.extent(1));
}

template <class In, class Out>
ProductShape checked_shape(Transpose transpose_a, Transpose transpose_b, const Matrix<const In>& a,
                           const Matrix<const In>& b, const Matrix<Out>& c) {
  const bool ta = transpose_a == Transpose::yes, tb = transpose_b == Transpose::yes;
  const ProductShape shape{extent(c, 0), extent(c, 1), extent(a, ta ? 0 : 1), ta, tb};
  require(extent(a, ta ? 1 : 0) == shape.m && extent(b, tb ? 0 : 1) == shape.n &&
              extent(b, tb ? 1 : 0) == shape.k,
          "matrix product: a ({}, {}){} times b ({}, {}){} does not give c ({}, {})", a.extent(0),
          a.extent(1), ta ? "^T" : "", b.extent(0), b.extent(1), tb ? "^T" : "", c.extent(0), c.extent(1));
  require_contiguous(a, "a");
  require_contiguous(b, "b");
  require_contiguous(c, "c");
  return shape;
}

/// What is left of the product when the inner extent is zero. beta = 0 stores zeros whatever c held.
template <class Out>
void scale_in_place(Out beta, const Matrix<Out>& c) {
  if (beta == Out(0)) {
    fill(c, Out(0));
    return;
  }
  const Vector<Out> values(c.data(), c.size());
  Kokkos::parallel_for(
      "minigift::gemm_scale", range(size(values)),
      KOKKOS_LAMBDA(const std::int64_t i) { values(i) *= beta; });
}

}  // namespace

template <class In, class Out>
void gemm(Transpose transpose_a, Transpose transpose_b, Out alpha, const Matrix<const In>& a,
          const Matrix<const In>& b, Out beta, const Matrix<Out>& c) {
  const ProductShape shape = checked_shape(transpose_a, transpose_b, a, b, c);
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) return scale_in_place(beta, c);
  linalg::multiply(shape, alpha, a, b, beta, c);
}

ScopedFp32Products::ScopedFp32Products(Fp32Products products) : previous_(chosen) {
  if (products == Fp32Products::tf32) linalg::require_tf32();
  chosen = products;
}

ScopedFp32Products::~ScopedFp32Products() {
  chosen = previous_;
}

Fp32Products fp32_products() {
  return chosen;
}

template void gemm<float, float>(Transpose, Transpose, float, const Matrix<const float>&,
                                 const Matrix<const float>&, float, const Matrix<float>&);
template void gemm<double, double>(Transpose, Transpose, double, const Matrix<const double>&,
                                   const Matrix<const double>&, double, const Matrix<double>&);
template void gemm<bfloat16, float>(Transpose, Transpose, float, const Matrix<const bfloat16>&,
                                    const Matrix<const bfloat16>&, float, const Matrix<float>&);

}  // namespace minigift
