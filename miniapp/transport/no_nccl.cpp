// Builds without NCCL; nccl_device.cpp is for the others.

#include "kernels/error.hpp"
#include "miniapp/transport/device_channel.hpp"

namespace minigift {

std::string nccl_version() {
  return "";
}

std::unique_ptr<DeviceChannel> open_nccl(MPI_Comm, const std::vector<RankDevice>&, std::function<void()>) {
  throw UsageError("this program was built without NCCL (MINIGIFT_ENABLE_NCCL)");
}

}  // namespace minigift
