#pragma once
// The one place where views in the memory of an accelerator meet libraries that work on the host.
//
// Where the host can read the view's memory, nothing is copied; the host waits for the current stream where
// that is not the host itself. Elsewhere host_input copies in, and host_output copies in and, by
// finish_output, out again. CUDA devices have libraries of their own and do not come here.

#include "kernels/device/memory.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace minigift::linalg {

inline constexpr bool host_can_read = Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;
inline constexpr bool work_may_be_pending =
    !std::is_same_v<ExecutionSpace, Kokkos::DefaultHostExecutionSpace>;

/// Host view of a matrix or vector for reading.
template <class T>
HostMatrix<const T> host_input(const Matrix<const T>& view) {
  if (work_may_be_pending) current_space().fence();
  if constexpr (host_can_read) {
    return HostMatrix<const T>(view.data(), view.extent(0), view.extent(1));
  } else {
    HostMatrix<T> host(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::host_input"),
                       view.extent(0), view.extent(1));
    copy(host, view);
    return host;
  }
}

/// Host view for reading and writing; the view itself where the host can reach it.
template <class T>
HostMatrix<T> host_output(const Matrix<T>& view) {
  if (work_may_be_pending) current_space().fence();
  if constexpr (host_can_read) {
    return HostMatrix<T>(view.data(), view.extent(0), view.extent(1));
  } else {
    HostMatrix<T> host(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::host_output"),
                       view.extent(0), view.extent(1));
    copy(host, view);
    return host;
  }
}
template <class T>
HostVector<T> host_output(const Vector<T>& view) {
  if (work_may_be_pending) current_space().fence();
  if constexpr (host_can_read) {
    return HostVector<T>(view.data(), view.extent(0));
  } else {
    HostVector<T> host(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::host_output"),
                       view.extent(0));
    copy(host, view);
    return host;
  }
}

/// Ends what host_output began: the view holds what was written to `host`.
template <class HostView, class View>
void finish_output(const HostView& host, const View& view) {
  if constexpr (!host_can_read) copy(view, host);
}

}  // namespace minigift::linalg
