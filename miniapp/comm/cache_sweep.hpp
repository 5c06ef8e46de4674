#pragma once
// Puts the buffers of a benchmark out of the caches, by touching more memory than they hold.

#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

class CacheSweep {
 public:
  /// `ranks_on_host` sweep at once and share the last level of cache.
  explicit CacheSweep(int ranks_on_host);
  std::int64_t bytes() const { return 8 * size(memory_); }
  /// Reads and writes all of it, and waits.
  void run() const;

 private:
  Vector<std::uint64_t> memory_;
};

}  // namespace minigift
