// Names of CUDA's libraries below gemm.hpp and factorize.hpp. Compiled where Kokkos has its CUDA backend.

#include "kernels/error.hpp"
#include "kernels/linalg/cuda/factorizations.hpp"
#include "kernels/linalg/cuda/products.hpp"
#include "kernels/linalg/gemm.hpp"

namespace minigift {

std::string linalg_backend() {
  return fmt::format("{} (FP32, TF32, BF16 with FP32 sums, FP64) + {} (factorizations), on device memory",
                     linalg::cuda::cublaslt_version(), linalg::cuda::cusolver_version());
}

/// The libraries run on the device, so no host thread takes part.
void set_linalg_threads(int threads) {
  require(threads >= 1, "the number of linear algebra threads must be at least 1, not {}", threads);
}

}  // namespace minigift
