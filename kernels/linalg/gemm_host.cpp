// Products by host libraries: oneDNN where it was found, else CBLAS. Compiled unless Kokkos has its CUDA
// backend.

#include "kernels/error.hpp"
#include "kernels/linalg/host_mirror.hpp"
#include "kernels/linalg/host_products.hpp"
#include "kernels/linalg/multiply.hpp"

#include <vector>

namespace minigift::linalg {
namespace {

void host_product(const ProductShape& shape, double alpha, const double* a, const double* b, double beta,
                  double* c) {
  blas_product(shape, alpha, a, b, beta, c);
}

void host_product(const ProductShape& shape, float alpha, const float* a, const float* b, float beta,
                  float* c) {
#ifdef MINIGIFT_HAVE_ONEDNN
  onednn_product(shape, alpha, a, b, beta, c);
#else
  blas_product(shape, alpha, a, b, beta, c);
#endif
}

std::vector<float> widened(const bfloat16* narrow, std::int64_t count) {
  std::vector<float> wide(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    wide[static_cast<std::size_t>(i)] = to_float(narrow[i]);
  return wide;
}

/// Where no library multiplies bfloat16 on this CPU (oneDNN needs AVX-512) the inputs are widened, which is
/// exact, and multiplied in FP32. linalg_backend() says so.
void host_product(const ProductShape& shape, float alpha, const bfloat16* a, const bfloat16* b, float beta,
                  float* c) {
#ifdef MINIGIFT_HAVE_ONEDNN
  if (onednn_multiplies_bfloat16()) return onednn_product(shape, alpha, a, b, beta, c);
#endif
  const std::vector<float> wide_a = widened(a, shape.m * shape.k), wide_b = widened(b, shape.k * shape.n);
  host_product(shape, alpha, wide_a.data(), wide_b.data(), beta, c);
}

}  // namespace

template <class In, class Out>
void multiply(const ProductShape& shape, Out alpha, const Matrix<const In>& a, const Matrix<const In>& b,
              Out beta, const Matrix<Out>& c) {
  const auto host_a = host_input(a);
  const auto host_b = host_input(b);
  const auto host_c = host_output(c);
  host_product(shape, alpha, host_a.data(), host_b.data(), beta, host_c.data());
  finish_output(host_c, c);
}

void require_tf32() {
  throw UsageError(
      "TF32 products need an NVIDIA GPU of compute capability 8.0 or newer and a Kokkos with its CUDA "
      "backend; "
      "this build multiplies on the host: use FP32 or BF16");
}

template void multiply<float, float>(const ProductShape&, float, const Matrix<const float>&,
                                     const Matrix<const float>&, float, const Matrix<float>&);
template void multiply<double, double>(const ProductShape&, double, const Matrix<const double>&,
                                       const Matrix<const double>&, double, const Matrix<double>&);
template void multiply<bfloat16, float>(const ProductShape&, float, const Matrix<const bfloat16>&,
                                        const Matrix<const bfloat16>&, float, const Matrix<float>&);

}  // namespace minigift::linalg
