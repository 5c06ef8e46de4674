#pragma once
// What the libraries below gemm.hpp offer, on host pointers. Only kernels/linalg includes this.

#include "kernels/format/bfloat16.hpp"
#include "kernels/linalg/product_shape.hpp"

namespace minigift::linalg {

/// CBLAS. Throws RuntimeError, naming the shape, for an extent that its 32-bit index type cannot hold.
void blas_product(const ProductShape& shape, double alpha, const double* a, const double* b, double beta,
                  double* c);
void blas_product(const ProductShape& shape, float alpha, const float* a, const float* b, float beta,
                  float* c);

#ifdef MINIGIFT_HAVE_ONEDNN
/// oneDNN. Extents are 64-bit.
void onednn_product(const ProductShape& shape, float alpha, const float* a, const float* b, float beta,
                    float* c);
void onednn_product(const ProductShape& shape, float alpha, const bfloat16* a, const bfloat16* b, float beta,
                    float* c);
/// Name of the code that oneDNN has for bfloat16 products on this CPU; "none" where it has none, as oneDNN 2
/// below AVX-512.
const char* onednn_bfloat16_implementation();
/// Whether there is any worth calling.
bool onednn_multiplies_bfloat16();
#endif

}  // namespace minigift::linalg
