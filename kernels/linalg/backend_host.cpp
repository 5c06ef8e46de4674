// Names and threads of the host libraries below gemm.hpp and factorize.hpp. Compiled unless Kokkos has its
// CUDA backend.
//
// Thread controls are looked up at run time: OpenBLAS has its own, oneDNN follows OpenMP's, another BLAS may
// have neither, and then there is nothing to set.

#include <dlfcn.h>

#ifdef MINIGIFT_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

#include "kernels/error.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/host_mirror.hpp"
#include "kernels/linalg/host_products.hpp"

#include <string>

namespace minigift {
namespace {

template <class Function>
Function* find_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// "OpenBLAS 0.3.21 (Cooperlake)", from "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...", or "BLAS".
std::string blas_name() {
  auto* const configuration = find_function<char*()>("openblas_get_config");
  if (configuration == nullptr) return "BLAS";
  const std::string text = configuration();
  const std::size_t end = text.find(' ', text.find(' ') + 1);
  std::string name = text.substr(0, end);
  if (auto* const core = find_function<char*()>("openblas_get_corename")) name += fmt::format(" {}", core());
  return name;
}

int threads_in_use() {
  if (auto* const openblas = find_function<int()>("openblas_get_num_threads")) return openblas();
  if (auto* const openmp = find_function<int()>("omp_get_max_threads")) return openmp();
  return 0;
}

}  // namespace

std::string linalg_backend() {
  std::string text;
#ifdef MINIGIFT_HAVE_ONEDNN
  const dnnl_version_t* const version = dnnl_version();
  const std::string implementation = linalg::onednn_bfloat16_implementation();
  const bool native =
      implementation.find("bf16") != std::string::npos || implementation.find("amx") != std::string::npos;
  const std::string bfloat16_products =
      linalg::onednn_multiplies_bfloat16()
          ? fmt::format("{}: {}", native ? "in hardware" : "emulated, no hardware support", implementation)
          : "widened to FP32, no hardware support";
  text = fmt::format("oneDNN {}.{}.{} (FP32; BF16 {}) + {} (FP64, LAPACK)", version->major, version->minor,
                     version->patch, bfloat16_products, blas_name());
#else
  text = fmt::format("{} (FP32, FP64, LAPACK; BF16 widened to FP32, no hardware support used)", blas_name());
#endif
  if (!linalg::host_can_read) text += ", products and factorizations on host copies";
  const int threads = threads_in_use();
  if (threads > 0) text += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  return text;
}

void set_linalg_threads(int threads) {
  require(threads >= 1, "the number of linear algebra threads must be at least 1, not {}", threads);
  if (auto* const openblas = find_function<void(int)>("openblas_set_num_threads")) openblas(threads);
  if (auto* const openmp = find_function<void(int)>("omp_set_num_threads")) openmp(threads);
}

}  // namespace minigift
