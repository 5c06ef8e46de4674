#pragma once
// How bytes get from the memory of the execution space into MPI. The only place that knows.

#include "kernels/view.hpp"
#include "miniapp/transport/traffic.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace minigift {

/// Which buffers the MPI library is given.
enum class Staging {
  host,    ///< host memory; device arrays are copied through a host mirror
  direct,  ///< the device array itself, for a GPU-aware MPI library. Not implemented: asking for it is an
           ///< error
};

const char* name(Staging staging);

/// Whether MPI and host code can read the arrays of kernels/view.hpp where they lie.
inline constexpr bool memory_is_on_host =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;

/// One array and the host memory that MPI sees in its place. On a host build both are the same memory and
/// nothing is ever copied; elsewhere `to_host` and `to_device` copy ranges and count their bytes.
///
/// T may be const (a send buffer, for which only `to_host` makes sense).
template <class T>
class StagedBuffer {
 public:
  using Value = std::remove_const_t<T>;

  StagedBuffer() = default;
  explicit StagedBuffer(const Vector<T>& array) : array_(array) {
    if constexpr (!memory_is_on_host)
      mirror_ = HostVector<Value>(Kokkos::view_alloc("minigift::mirror", Kokkos::WithoutInitializing),
                                  array.extent(0));
  }

  /// The array in the memory of the execution space.
  const Vector<T>& array() const { return array_; }

  /// Elements [offset, offset + count) of the array, for a kernel.
  Vector<T> range(std::int64_t offset, std::int64_t count) const {
    return Kokkos::subview(array_, std::make_pair(offset, offset + count));
  }

  /// What MPI is given.
  T* host_data() const {
    if constexpr (memory_is_on_host) {
      return array_.data();
    } else {
      return mirror_.data();
    }
  }

  /// Waits for the kernels that produce the elements and makes them readable through host_data().
  void to_host(std::int64_t offset, std::int64_t count, TransportCounters& counters) const {
    if (count == 0) return;
    if constexpr (!memory_is_on_host) {
      Kokkos::deep_copy(host_range(offset, count), range(offset, count));
      counters.device_to_host_bytes += count * static_cast<std::int64_t>(sizeof(T));
    } else {
      Kokkos::fence();
    }
  }

  /// Makes elements that MPI wrote readable by kernels.
  void to_device(std::int64_t offset, std::int64_t count, TransportCounters& counters) const {
    if (count == 0) return;
    if constexpr (!memory_is_on_host) {
      Kokkos::deep_copy(range(offset, count), host_range(offset, count));
      counters.host_to_device_bytes += count * static_cast<std::int64_t>(sizeof(T));
    }
  }

 private:
  HostVector<Value> host_range(std::int64_t offset, std::int64_t count) const {
    return Kokkos::subview(mirror_, std::make_pair(offset, offset + count));
  }

  Vector<T> array_;
  HostVector<Value> mirror_;
};

/// The bytes of an array, for the operations that move bytes. The array must outlive the result.
template <class T>
Vector<std::uint8_t> as_bytes(const Vector<T>& array) {
  return Vector<std::uint8_t>(reinterpret_cast<std::uint8_t*>(array.data()), array.extent(0) * sizeof(T));
}
template <class T>
Vector<const std::uint8_t> as_bytes(const Vector<const T>& array) {
  return Vector<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(array.data()),
                                    array.extent(0) * sizeof(T));
}

}  // namespace minigift
