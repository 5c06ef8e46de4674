// Streams and events of a CUDA device. Compiled in place of stream_single.cpp where Kokkos has its CUDA
// backend.

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"

#include <cuda_runtime.h>

namespace minigift {
namespace {

void check(cudaError_t code, const char* call) {
  require(code == cudaSuccess, "{}: {} ({})", call, cudaGetErrorString(code), cudaGetErrorName(code));
}

int next_id = 1;

}  // namespace

struct Event::State {
  cudaEvent_t event = nullptr;
  State() { check(cudaEventCreate(&event), "cudaEventCreate"); }
  ~State() { cudaEventDestroy(event); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Stream Stream::create(bool urgent) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t queue = nullptr;
  check(cudaStreamCreateWithPriority(&queue, cudaStreamNonBlocking, urgent ? greatest : least),
        "cudaStreamCreateWithPriority");
  Stream stream;
  stream.owner_ =
      std::shared_ptr<void>(queue, [](void* owned) { cudaStreamDestroy(static_cast<cudaStream_t>(owned)); });
  stream.space_ = ExecutionSpace(queue);
  stream.id_ = next_id++;
  return stream;
}

void Event::record() {
  if (!state_) state_ = std::make_shared<State>();
  check(cudaEventRecord(state_->event, current_space().cuda_stream()), "cudaEventRecord");
}

void Event::wait() const {
  if (!state_) return;
  check(cudaStreamWaitEvent(current_space().cuda_stream(), state_->event, 0), "cudaStreamWaitEvent");
}

bool Event::reached() const {
  if (!state_) return false;
  const cudaError_t code = cudaEventQuery(state_->event);
  if (code == cudaErrorNotReady) return false;
  check(code, "cudaEventQuery");
  return true;
}

void Event::synchronize() const {
  if (state_) check(cudaEventSynchronize(state_->event), "cudaEventSynchronize");
}

double Event::seconds(const Event& from, const Event& to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.state_->event, to.state_->event), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

const char* device_streams() {
  return "CUDA streams: compute and exchange overlap";
}

}  // namespace minigift
