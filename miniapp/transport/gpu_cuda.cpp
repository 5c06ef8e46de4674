// The GPUs of this process by the CUDA run time. Compiled in place of gpu_none.cpp where Kokkos has its CUDA
// backend.

#include "kernels/error.hpp"
#include "miniapp/transport/gpu.hpp"

#include <array>
#include <cuda_runtime_api.h>

namespace minigift {
namespace {

void check(cudaError_t code, const char* call) {
  require(code == cudaSuccess, "{}: {} ({})", call, cudaGetErrorString(code), cudaGetErrorName(code));
}

}  // namespace

bool built_for_gpu() {
  return true;
}

int device_count() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorNoDevice) {
    cudaGetLastError();  // it is an answer here, not a failure to be met again later
    return 0;
  }
  check(code, "cudaGetDeviceCount");
  return count;
}

DeviceInfo current_device() {
  DeviceInfo info;
  check(cudaGetDevice(&info.index), "cudaGetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, info.index), "cudaGetDeviceProperties");
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), info.index), "cudaDeviceGetPCIBusId");
  info.name = properties.name;
  info.pci_bus_id = bus.data();
  info.compute_capability = 10 * properties.major + properties.minor;
  info.memory = static_cast<std::int64_t>(properties.totalGlobalMem);
  return info;
}

}  // namespace minigift
