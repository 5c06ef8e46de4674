// Products by cuBLASLt on the current stream. Compiled where Kokkos has its CUDA backend.

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/cuda/products.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/multiply.hpp"

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace minigift::linalg {
namespace {

template <class In>
cuda::ProductKind kind() {
  if constexpr (std::is_same_v<In, double>)
    return cuda::ProductKind::fp64;
  else if constexpr (std::is_same_v<In, bfloat16>)
    return cuda::ProductKind::bf16;
  else
    return fp32_products() == Fp32Products::tf32 ? cuda::ProductKind::tf32 : cuda::ProductKind::fp32;
}

/// Handles and workspaces go before the device does.
void release_in_time() {
  static const bool registered = [] {
    Kokkos::push_finalize_hook([] { cuda::release_products(); });
    return true;
  }();
  (void)registered;
}

}  // namespace

template <class In, class Out>
void multiply(const ProductShape& shape, Out alpha, const Matrix<const In>& a, const Matrix<const In>& b,
              Out beta, const Matrix<Out>& c) {
  release_in_time();
  cuda::product(current_space().cuda_stream(), kind<In>(), shape, static_cast<double>(alpha), a.data(),
                b.data(), static_cast<double>(beta), c.data());
}

void require_tf32() {
  require_usage(cuda::has_tensor_cores_for_tf32(),
                "TF32 products need a GPU of compute capability 8.0 or newer, this one has {}: use FP32",
                cuda::compute_capability());
}

template void multiply<float, float>(const ProductShape&, float, const Matrix<const float>&,
                                     const Matrix<const float>&, float, const Matrix<float>&);
template void multiply<double, double>(const ProductShape&, double, const Matrix<const double>&,
                                       const Matrix<const double>&, double, const Matrix<double>&);
template void multiply<bfloat16, float>(const ProductShape&, float, const Matrix<const bfloat16>&,
                                        const Matrix<const bfloat16>&, float, const Matrix<float>&);

}  // namespace minigift::linalg
