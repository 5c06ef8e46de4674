#pragma once
// Host memory of this process, as the kernel counts it.

#include <cstdint>

namespace minigift {

struct ProcessMemory {
  std::int64_t resident_bytes = 0;
  std::int64_t peak_resident_bytes = 0;
};

/// From /proc/self/status (VmRSS, VmHWM). Throws RuntimeError where that cannot be read.
ProcessMemory process_memory();

/// Lets the next peak count from now, so that methods run one after the other are told apart. Linux only:
/// returns false where the kernel does not allow it; peaks then include everything before.
bool reset_peak_memory();

}  // namespace minigift
