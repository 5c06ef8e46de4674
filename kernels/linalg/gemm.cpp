#include "kernels/linalg/gemm.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/host_mirror.hpp"
#include "kernels/linalg/host_products.hpp"

#include <vector>

namespace minigift {
namespace {

using linalg::ProductShape;

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

void host_product(const ProductShape& shape, double alpha, const double* a, const double* b, double beta,
                  double* c) {
  linalg::blas_product(shape, alpha, a, b, beta, c);
}

#ifdef MINIGIFT_HAVE_ONEDNN

template <class In>
void host_product(const ProductShape& shape, float alpha, const In* a, const In* b, float beta, float* c) {
  linalg::onednn_product(shape, alpha, a, b, beta, c);
}

#else

void host_product(const ProductShape& shape, float alpha, const float* a, const float* b, float beta,
                  float* c) {
  linalg::blas_product(shape, alpha, a, b, beta, c);
}

/// Without oneDNN the inputs are widened, which is exact, and multiplied in FP32. linalg_backend() says so.
void host_product(const ProductShape& shape, float alpha, const bfloat16* a, const bfloat16* b, float beta,
                  float* c) {
  const auto widen = [](const bfloat16* narrow, std::int64_t count) {
    std::vector<float> wide(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      wide[static_cast<std::size_t>(i)] = to_float(narrow[i]);
    return wide;
  };
  const std::vector<float> wide_a = widen(a, shape.m * shape.k), wide_b = widen(b, shape.k * shape.n);
  linalg::blas_product(shape, alpha, wide_a.data(), wide_b.data(), beta, c);
}

#endif

}  // namespace

template <class In, class Out>
void gemm(Transpose transpose_a, Transpose transpose_b, Out alpha, const Matrix<const In>& a,
          const Matrix<const In>& b, Out beta, const Matrix<Out>& c) {
  const ProductShape shape = checked_shape(transpose_a, transpose_b, a, b, c);
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) return scale_in_place(beta, c);
  const auto host_a = linalg::host_input(a);
  const auto host_b = linalg::host_input(b);
  const auto host_c = linalg::host_output(c);
  host_product(shape, alpha, host_a.data(), host_b.data(), beta, host_c.data());
  linalg::finish_output(host_c, c);
}

template void gemm<float, float>(Transpose, Transpose, float, const Matrix<const float>&,
                                 const Matrix<const float>&, float, const Matrix<float>&);
template void gemm<double, double>(Transpose, Transpose, double, const Matrix<const double>&,
                                   const Matrix<const double>&, double, const Matrix<double>&);
template void gemm<bfloat16, float>(Transpose, Transpose, float, const Matrix<const bfloat16>&,
                                    const Matrix<const bfloat16>&, float, const Matrix<float>&);

}  // namespace minigift
