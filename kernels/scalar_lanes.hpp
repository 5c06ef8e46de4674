#pragma once
// The one choice of form that the kernels make for their device. On a host one thread is a team and computes
// on vector registers: loops over neighbouring elements are left to the vectoriser. On a GPU a thread
// computes on scalars and the team is the vector: neighbouring threads take neighbouring elements. Both forms
// are in the same source, chosen by `if constexpr (scalar_lanes)`.

#include "kernels/view.hpp"

#include <type_traits>

namespace minigift {

#if defined(MINIGIFT_SCALAR_LANES)
/// Tests compile the kernels a second time for the host in the form that a GPU runs.
inline constexpr bool scalar_lanes = true;
#else
inline constexpr bool scalar_lanes = !std::is_same_v<MemorySpace, Kokkos::HostSpace>;
#endif

/// Whether threads are those of a host, whatever the form of the kernels: a team there is one thread.
inline constexpr bool threads_on_host = std::is_same_v<ExecutionSpace, Kokkos::DefaultHostExecutionSpace>;

}  // namespace minigift
