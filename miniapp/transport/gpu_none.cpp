// Builds that compute on no CUDA device; gpu_cuda.cpp is for the others.

#include "miniapp/transport/gpu.hpp"

namespace minigift {

bool built_for_gpu() {
  return false;
}

int device_count() {
  return 0;
}

DeviceInfo current_device() {
  return {};
}

}  // namespace minigift
