#include "kernels/device/memory.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace minigift {
namespace {

using Key = std::pair<int, std::string>;  // (stream, label)

std::map<Key, Vector<std::uint8_t>>& buffers() {
  static std::map<Key, Vector<std::uint8_t>> all;
  return all;
}

}  // namespace

Vector<std::uint8_t> stream_scratch_bytes(const char* label, std::int64_t bytes) {
  static const bool freed_in_time = [] {
    Kokkos::push_finalize_hook([] { buffers().clear(); });
    return true;
  }();
  (void)freed_in_time;
  Vector<std::uint8_t>& buffer = buffers()[{current_stream().id(), label}];
  if (size(buffer) < bytes) {
    // Half as much again, so that slowly growing requests do not allocate each time.
    const std::int64_t wanted = std::max(bytes, size(buffer) + size(buffer) / 2);
    buffer = Vector<std::uint8_t>();
    buffer = Vector<std::uint8_t>(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(label)),
                                  static_cast<std::size_t>(wanted));
  }
  return buffer;
}

}  // namespace minigift
