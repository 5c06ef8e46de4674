#pragma once
// Statuses of the CUDA runtime, and owners for the libraries' handles. Only kernels/linalg/cuda includes
// this.

#include "kernels/error.hpp"

#include <cstddef>
#include <cuda_runtime_api.h>
#include <utility>

namespace minigift::linalg::cuda {

inline void check_runtime(cudaError_t code, const char* call) {
  require(code == cudaSuccess, "{}: {} ({})", call, cudaGetErrorString(code), cudaGetErrorName(code));
}

/// Owns what a library's create function made. The status of `destroy` is of no use to anyone.
template <class Handle, auto destroy>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) destroy(handle_);
  }
  Handle get() const { return handle_; }
  /// For create functions, on an owner that owns nothing yet.
  Handle* address() { return &handle_; }

 private:
  Handle handle_ = nullptr;
};

/// Device memory that grows. Growing waits for the device, so it happens in the first calls only.
class DeviceBuffer {
 public:
  void* reserve(std::size_t bytes, const char* purpose) {
    if (bytes > bytes_) {
      memory_ = Memory();
      bytes_ = 0;
      const cudaError_t code = cudaMalloc(memory_.address(), bytes);
      require(code == cudaSuccess, "no {} bytes of device memory for {}: {}", bytes, purpose,
              cudaGetErrorString(code));
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  using Memory = Owned<void*, cudaFree>;
  Memory memory_;
  std::size_t bytes_ = 0;
};

}  // namespace minigift::linalg::cuda
