#include "miniapp/comm/cache_sweep.hpp"

#include "kernels/device/memory.hpp"
#include "miniapp/transport/staging.hpp"

#include <algorithm>
#include <unistd.h>

namespace minigift {
namespace {

constexpr std::int64_t least_bytes = std::int64_t{64} << 20;
constexpr std::int64_t device_bytes = std::int64_t{256} << 20;  // beyond four times any GPU's L2

/// The last level of cache as the system tells it, 0 if it does not.
std::int64_t last_level_bytes() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return std::max<std::int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
#else
  return 0;
#endif
}

std::int64_t sweep_bytes(int ranks_on_host) {
  if (!memory_is_on_host) return device_bytes;
  return std::max(least_bytes, 4 * last_level_bytes() / ranks_on_host);
}

}  // namespace

CacheSweep::CacheSweep(int ranks_on_host)
    : memory_("minigift::comm_sweep", static_cast<std::size_t>(sweep_bytes(ranks_on_host) / 8)) {}

void CacheSweep::run() const {
  const Vector<std::uint64_t> memory = memory_;
  Kokkos::parallel_for(
      "minigift::comm_sweep", range(size(memory)), KOKKOS_LAMBDA(std::int64_t i) { memory(i) += 1; });
  current_space().fence();
}

}  // namespace minigift
