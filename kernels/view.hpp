#pragma once
// The array types of every kernel, and the index type: 64 bits everywhere, so that no product of extents
// overflows.
//
// Letters used for extents throughout:  B batch, T sequence length, C channels (hidden width), H heads, D
// head width, F feed-forward width, V vocabulary, N ranks. R stands for B*T rows (tokens of one micro-batch).

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

using ExecutionSpace = Kokkos::DefaultExecutionSpace;
using MemorySpace = ExecutionSpace::memory_space;

/// Contiguous arrays in the memory of the execution space. A view made from a pointer does not own its
/// memory, so the same type serves slices of the flat parameter and gradient buffers.
template <class T>
using Vector = Kokkos::View<T*, Kokkos::LayoutRight, MemorySpace>;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace>;
/// The same on the host.
template <class T>
using HostVector = Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::HostSpace>;
template <class T>
using HostMatrix = Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// One-dimensional iteration with a 64-bit index.
using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
/// One team per league index, 64-bit.
using Team = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
using TeamMember = Team::member_type;

template <class View>
inline std::int64_t extent(const View& view, int dimension) {
  return static_cast<std::int64_t>(view.extent(static_cast<unsigned>(dimension)));
}
template <class View>
inline std::int64_t size(const View& view) {
  return static_cast<std::int64_t>(view.size());
}

}  // namespace minigift
