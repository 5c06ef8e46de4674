#include "miniapp/transport/device_memory_guard.hpp"

#include "kernels/error.hpp"

#include <utility>

namespace minigift {
namespace {

const char* name(DeviceMemoryUser user) {
  return user == DeviceMemoryUser::mpi ? "MPI" : "NCCL";
}

}  // namespace

DeviceMemoryUse::DeviceMemoryUse(DeviceMemoryUse&& other) noexcept
    : guard_(std::exchange(other.guard_, nullptr)), user_(other.user_) {}

DeviceMemoryUse& DeviceMemoryUse::operator=(DeviceMemoryUse&& other) noexcept {
  if (this == &other) return *this;
  end();
  guard_ = std::exchange(other.guard_, nullptr);
  user_ = other.user_;
  return *this;
}

void DeviceMemoryUse::end() noexcept {
  if (guard_ != nullptr) --guard_->counts_[static_cast<std::size_t>(user_)];
  guard_ = nullptr;
}

DeviceMemoryUse DeviceMemoryGuard::begin(DeviceMemoryUser user, const char* operation) {
  const DeviceMemoryUser other =
      user == DeviceMemoryUser::mpi ? DeviceMemoryUser::nccl : DeviceMemoryUser::mpi;
  require(in_flight(other) == 0,
          "{}: {} on device memory while {} has {} operations in flight there, which can deadlock; call "
          "synchronize() of the other communicator first",
          operation, name(user), name(other), in_flight(other));
  ++counts_[static_cast<std::size_t>(user)];
  return DeviceMemoryUse(*this, user);
}

DeviceMemoryGuard& DeviceMemoryGuard::of_process() {
  static DeviceMemoryGuard guard;
  return guard;
}

}  // namespace minigift
