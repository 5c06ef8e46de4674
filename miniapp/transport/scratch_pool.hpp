#pragma once
// Receive buffers of operations in flight, kept for the next ones: the exchange starts the same operations
// every step.

#include "miniapp/transport/staged_buffer.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace minigift {

class ScratchPool {
 public:
  using Buffer = StagedBuffer<std::uint8_t>;

  /// A buffer of at least `bytes`. mirrors: as for StagedBuffer, the same at every call.
  Buffer take(std::int64_t bytes, MirrorPool* mirrors) {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (size(free_[i].array()) < bytes) continue;
      std::swap(free_[i], free_.back());
      Buffer buffer = std::move(free_.back());
      free_.pop_back();
      return buffer;
    }
    return Buffer(Vector<std::uint8_t>(Kokkos::view_alloc("minigift::scratch", Kokkos::WithoutInitializing),
                                       static_cast<std::size_t>(bytes)),
                  mirrors);
  }

  void give_back(Buffer buffer) { free_.push_back(std::move(buffer)); }

 private:
  std::vector<Buffer> free_;
};

}  // namespace minigift
