#pragma once
// Device memory without Kokkos, for tests that are compiled and linked wherever nvcc is found.

#include <gtest/gtest.h>

#include <cstddef>
#include <cuda_runtime_api.h>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace minigift::test {

inline void check_cuda(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

/// Skips each of its tests where there is no device; ctest looks for these words.
class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
      GTEST_SKIP() << "no CUDA device: compiled and linked only";
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  void TearDown() override {
    if (stream != nullptr) check_cuda(cudaStreamDestroy(stream));
  }
  cudaStream_t stream = nullptr;
};

/// Values in device memory, `offset` elements behind a well-aligned address.
template <class T>
class DeviceArray {
 public:
  DeviceArray(const std::vector<T>& values, cudaStream_t stream, std::size_t offset = 0)
      : count_(values.size()), stream_(stream) {
    check_cuda(cudaMalloc(&memory_, (count_ + offset + 1) * sizeof(T)));
    data_ = static_cast<T*>(memory_) + offset;
    check_cuda(cudaMemcpyAsync(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice, stream_));
    check_cuda(cudaStreamSynchronize(stream_));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(memory_); }

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> host(count_);
    check_cuda(cudaMemcpyAsync(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    check_cuda(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  std::size_t count_;
  cudaStream_t stream_;
  void* memory_ = nullptr;
  T* data_ = nullptr;
};

}  // namespace minigift::test
