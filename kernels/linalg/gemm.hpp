#pragma once
// Matrix products on contiguous row-major matrices: the one door to BLAS, oneDNN and cuBLASLt. Nothing above
// this folder sees a leading dimension or a pointer.

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
/// numbers exactly and sums them in FP32, in hardware where the CPU or GPU can; linalg_backend() says so.
///
/// Rounding: |error| <= k * u * |a||b| for each element, u the unit roundoff of Out (with TF32 factors,
/// below, another 2^-9 |a||b|). The result depends on the shape, on the number of threads the library was
/// built to use, and on a GPU on how far the address of each matrix is aligned (up to 16 bytes), not on the
/// values: repeated calls give equal bits.
///
/// On a CUDA device the product is enqueued on the current stream, in place on device memory, and the host
/// does not wait. On other devices the host multiplies copies; linalg_backend() says so.
///
/// Throws RuntimeError if the extents do not fit together, or one exceeds what the library's index type can
/// hold.
///
/// Template arguments are deduced from views whose element type is const; other callers name them:
/// `gemm<float, float>(...)`.
template <class In, class Out>
void gemm(Transpose transpose_a, Transpose transpose_b, Out alpha, const Matrix<const In>& a,
          const Matrix<const In>& b, Out beta, const Matrix<Out>& c);

/// How products of float factors are formed.
///   ieee  FP32 multiplications and sums
///   tf32  factors cut to TF32's 10-bit mantissas by the tensor cores of a GPU, sums in FP32
enum class Fp32Products { ieee, tf32 };

/// Products of float factors are formed as asked for the lifetime of the object; ieee otherwise. Products of
/// other types are not affected, and factorizations always multiply in ieee. Throws UsageError where tf32 has
/// no hardware: on a host, on devices other than CUDA's, below compute capability 8.0.
class ScopedFp32Products {
 public:
  explicit ScopedFp32Products(Fp32Products products);
  ~ScopedFp32Products();
  ScopedFp32Products(const ScopedFp32Products&) = delete;
  ScopedFp32Products& operator=(const ScopedFp32Products&) = delete;

 private:
  Fp32Products previous_;
};

/// What products of float factors do now.
Fp32Products fp32_products();

/// The libraries in use and how many threads they run, in words. Goes into every result file, since these
/// decide a product's speed and last bits. Example: "oneDNN 2.6.3 (FP32; BF16 with avx512_bf16) + OpenBLAS
/// 0.3.21 (FP64, LAPACK), 1 thread".
std::string linalg_backend();

/// Threads used by the libraries below this interface, from the calling thread on. At least 1.
void set_linalg_threads(int threads);

}  // namespace minigift
