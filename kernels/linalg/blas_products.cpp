// Products through CBLAS.

#include "kernels/error.hpp"
#include "kernels/linalg/host_products.hpp"

#include <cblas.h>

#include <limits>

namespace minigift::linalg {
namespace {

/// CBLAS shapes in the 32-bit integers that every CBLAS accepts.
struct BlasShape {
  CBLAS_TRANSPOSE transpose_a, transpose_b;
  int m, n, k, leading_a, leading_b;
};

BlasShape blas_shape(const ProductShape& shape) {
  constexpr std::int64_t limit = std::numeric_limits<int>::max();
  require(shape.m <= limit && shape.n <= limit && shape.k <= limit,
          "matrix product ({} x {}) ({} x {}): an extent exceeds the BLAS limit of {}", shape.m, shape.k,
          shape.k, shape.n, limit);
  return {shape.transpose_a ? CblasTrans : CblasNoTrans,
          shape.transpose_b ? CblasTrans : CblasNoTrans,
          static_cast<int>(shape.m),
          static_cast<int>(shape.n),
          static_cast<int>(shape.k),
          static_cast<int>(shape.transpose_a ? shape.m : shape.k),
          static_cast<int>(shape.transpose_b ? shape.k : shape.n)};
}

}  // namespace

void blas_product(const ProductShape& shape, double alpha, const double* a, const double* b, double beta,
                  double* c) {
  const BlasShape s = blas_shape(shape);
  cblas_dgemm(CblasRowMajor, s.transpose_a, s.transpose_b, s.m, s.n, s.k, alpha, a, s.leading_a, b,
              s.leading_b, beta, c, s.n);
}

void blas_product(const ProductShape& shape, float alpha, const float* a, const float* b, float beta,
                  float* c) {
  const BlasShape s = blas_shape(shape);
  cblas_sgemm(CblasRowMajor, s.transpose_a, s.transpose_b, s.m, s.n, s.k, alpha, a, s.leading_a, b,
              s.leading_b, beta, c, s.n);
}

}  // namespace minigift::linalg
