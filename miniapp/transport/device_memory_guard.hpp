#pragma once
// NCCL and MPI on device memory are never in flight together.
//
// Each may hold the device, or a thread that the device needs, until other ranks have come to the same
// collective; together they wait for each other in a circle (NVIDIA/nccl#493, #522; open-mpi/ompi#8806). One
// communicator uses one of the two, so this holds by construction; the guard sees to it where a program has
// several communicators.

#include <array>
#include <cstdint>

namespace minigift {

enum class DeviceMemoryUser { mpi, nccl };

class DeviceMemoryGuard;

/// One operation in flight on device memory, for the lifetime of the object. Move-only.
class DeviceMemoryUse {
 public:
  DeviceMemoryUse() = default;
  DeviceMemoryUse(DeviceMemoryGuard& guard, DeviceMemoryUser user) : guard_(&guard), user_(user) {}
  DeviceMemoryUse(DeviceMemoryUse&& other) noexcept;
  DeviceMemoryUse& operator=(DeviceMemoryUse&& other) noexcept;
  ~DeviceMemoryUse() { end(); }

 private:
  void end() noexcept;

  DeviceMemoryGuard* guard_ = nullptr;
  DeviceMemoryUser user_ = DeviceMemoryUser::mpi;
};

class DeviceMemoryGuard {
 public:
  /// Throws RuntimeError if the other library has operations in flight. `operation` names the new one.
  DeviceMemoryUse begin(DeviceMemoryUser user, const char* operation);
  std::int64_t in_flight(DeviceMemoryUser user) const { return counts_[static_cast<std::size_t>(user)]; }

  /// The one that counts all communicators of this process. One thread per process communicates.
  static DeviceMemoryGuard& of_process();

 private:
  friend class DeviceMemoryUse;
  std::array<std::int64_t, 2> counts_{};
};

}  // namespace minigift
