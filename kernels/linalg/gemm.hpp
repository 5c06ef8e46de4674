#pragma once
// Matrix products on contiguous row-major matrices: the one door to BLAS and oneDNN. Nothing above this
// folder sees a leading dimension or a pointer.

#include "kernels/format/bfloat16.hpp"
#include "kernels/view.hpp"

#include <string>

namespace minigift {

enum class Transpose { no, yes };

/// c = alpha * op(a) * op(b) + beta * c.
///
/// Shapes: op(a) is (m, k), op(b) is (k, n), c is (m, n). With Transpose::yes the stored matrix is the
/// transpose, so a is (k, m) and b is (n, k). With beta = 0 the old content of c is not read (NaN there does
/// not spread). Extents of zero are allowed: with k = 0 the product is beta * c.
///
/// (In, Out) is one of (float, float), (double, double) and (bfloat16, float). The last multiplies bfloat16
/// numbers exactly and sums them in FP32, in hardware where the CPU can; linalg_backend() says so.
///
/// Rounding: |error| <= k * u * |a||b| for each element, u the unit roundoff of Out. The result depends on
/// the shape and on the number of threads the library was built to use, not on the values: repeated calls
/// give equal bits.
///
/// Throws RuntimeError if the extents do not fit together, or one exceeds what the library's index type can
/// hold.
///
/// Template arguments are deduced from views whose element type is const; other callers name them:
/// `gemm<float, float>(...)`.
template <class In, class Out>
void gemm(Transpose transpose_a, Transpose transpose_b, Out alpha, const Matrix<const In>& a,
          const Matrix<const In>& b, Out beta, const Matrix<Out>& c);

/// The libraries in use and how many threads they run, in words. Goes into every result file, since these
/// decide a product's speed and last bits. Example: "oneDNN 2.6.3 (FP32; BF16 with avx512_bf16) + OpenBLAS
/// 0.3.21 (FP64, LAPACK), 1 thread".
std::string linalg_backend();

/// Threads used by the libraries below this interface, from the calling thread on. At least 1.
void set_linalg_threads(int threads);

}  // namespace minigift
