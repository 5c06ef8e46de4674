#pragma once
// Copies, fills, scratch and read-backs on the current stream: what a step uses instead of Kokkos::deep_copy,
// which waits for the whole device, and of allocation, which does so too.

#include "kernels/device/stream.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace minigift {

/// to <- from, both contiguous, of equal extents, in any memory. Between device and host memory the host
/// waits for the current stream, so that either side may be used when this returns; within one memory it does
/// not.
template <class To, class From>
void copy(const To& to, const From& from) {
  Kokkos::deep_copy(current_space(), to, from);
  if constexpr (!std::is_same_v<typename To::memory_space, typename From::memory_space>)
    current_space().fence();
}

/// Every element <- value.
template <class View>
void fill(const View& view, const typename View::non_const_value_type& value) {
  Kokkos::deep_copy(current_space(), view, value);
}

/// A copy in host memory, complete when this returns: the host waits for the current stream. It is a copy on
/// a host backend as well, so that callers may change it.
template <class T>
HostVector<std::remove_const_t<T>> on_host(const Vector<T>& view) {
  using Value = std::remove_const_t<T>;
  const HostVector<Value> host(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::on_host"),
                               view.extent(0));
  copy(host, view);
  current_space().fence();
  return host;
}
template <class T>
HostMatrix<std::remove_const_t<T>> on_host(const Matrix<T>& view) {
  using Value = std::remove_const_t<T>;
  const HostMatrix<Value> host(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::on_host"),
                               view.extent(0), view.extent(1));
  copy(host, view);
  current_space().fence();
  return host;
}

/// Host memory to prepare the content of `view` in, uninitialised; then copy(view, host).
template <class T>
HostVector<T> host_like(const Vector<T>& view) {
  return HostVector<T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::host_like"),
                       view.extent(0));
}
template <class T>
HostMatrix<T> host_like(const Matrix<T>& view) {
  return HostMatrix<T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::host_like"), view.extent(0),
                       view.extent(1));
}

/// At least `bytes` of device memory for the use of one kernel, or of a few that follow each other on the
/// current stream. The same (stream, label) gives the same memory again, grown when needed, so a step that
/// has run once allocates nothing; two uses that live at the same time need two labels. Content is undefined.
/// Freed when Kokkos is finalised.
Vector<std::uint8_t> stream_scratch_bytes(const char* label, std::int64_t bytes);

template <class T>
Vector<T> stream_scratch(const char* label, std::int64_t count) {
  const Vector<std::uint8_t> bytes =
      stream_scratch_bytes(label, count * static_cast<std::int64_t>(sizeof(T)));
  return Vector<T>(reinterpret_cast<T*>(bytes.data()), static_cast<std::size_t>(count));
}

}  // namespace minigift
