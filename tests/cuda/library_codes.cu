#include "tests/cuda/library_codes.hpp"

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stdexcept>

namespace minigift::test {
namespace {

void check(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) { check(cudaMalloc(&data_, count * sizeof(T))); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> host(count_);
    check(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

__global__ void encode(const float* values, std::size_t count, std::uint8_t* e4m3, std::uint8_t* e5m2,
                       std::uint16_t* narrow) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  e4m3[i] = __nv_cvt_float_to_fp8(values[i], __NV_SATFINITE, __NV_E4M3);
  e5m2[i] = __nv_cvt_float_to_fp8(values[i], __NV_SATFINITE, __NV_E5M2);
  narrow[i] = __nv_bfloat16_raw(__float2bfloat16_rn(values[i])).x;
}

__global__ void decode(float* e4m3, float* e5m2) {
  const auto code = static_cast<__nv_fp8_storage_t>(threadIdx.x);
  e4m3[threadIdx.x] = __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3)));
  e5m2[threadIdx.x] = __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E5M2)));
}

}  // namespace

LibraryCodes library_codes(const std::vector<float>& values) {
  const std::size_t count = values.size();
  const Buffer<float> input(count);
  check(cudaMemcpy(input.data(), values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  const Buffer<std::uint8_t> e4m3(count), e5m2(count);
  const Buffer<std::uint16_t> narrow(count);
  encode<<<static_cast<unsigned>((count + 255) / 256), 256>>>(input.data(), count, e4m3.data(), e5m2.data(),
                                                              narrow.data());
  check(cudaGetLastError());
  return {e4m3.values(), e5m2.values(), narrow.values()};
}

LibraryValues library_values() {
  const Buffer<float> e4m3(256), e5m2(256);
  decode<<<1, 256>>>(e4m3.data(), e5m2.data());
  check(cudaGetLastError());
  return {e4m3.values(), e5m2.values()};
}

}  // namespace minigift::test
