#pragma once
// Host memory that stands in for device arrays, kept for the next operations: a step starts the same ones
// every time, and allocating pinned memory waits for the device.

#include "kernels/view.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace minigift {

/// Memory at both ends of fast copies between host and device, where the backend has any.
#ifdef KOKKOS_HAS_SHARED_HOST_PINNED_SPACE
using PinnedSpace = Kokkos::SharedHostPinnedSpace;
#else
using PinnedSpace = Kokkos::HostSpace;
#endif

/// The first of a number of bytes; the last copy gives them back.
using Mirror = std::shared_ptr<std::uint8_t>;

class MirrorPool {
 public:
  MirrorPool() : free_(std::make_shared<Blocks>()) {}
  MirrorPool(const MirrorPool&) = delete;
  MirrorPool& operator=(const MirrorPool&) = delete;

  /// At least `bytes` of host memory, content undefined. May outlive the pool, but not Kokkos.
  Mirror take(std::int64_t bytes);
  /// Memory that waits for its next use [B].
  std::int64_t free_bytes() const;

 private:
  using Block = Kokkos::View<std::uint8_t*, Kokkos::LayoutRight, PinnedSpace>;
  using Blocks = std::vector<Block>;

  std::shared_ptr<Blocks> free_;
};

}  // namespace minigift
