#pragma once
// The one place where arrays meet MPI: host memory as it is, device memory through a mirror or, for a library
// that takes it, as it is.

#include "kernels/device/memory.hpp"
#include "kernels/view.hpp"
#include "miniapp/transport/mirror_pool.hpp"
#include "miniapp/transport/staging.hpp"
#include "miniapp/transport/traffic.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace minigift {

/// One array and the memory that MPI sees in its place. On a host build both are the same memory and nothing
/// is ever copied. Elsewhere either there is a mirror, and `to_mpi` and `from_mpi` copy ranges and count
/// their bytes, or MPI is given the array, and `to_mpi` only waits for its kernels. All of them work on the
/// current stream.
///
/// T may be const (a send buffer, for which only `to_mpi` makes sense).
template <class T>
class StagedBuffer {
 public:
  using Value = std::remove_const_t<T>;

  StagedBuffer() = default;
  /// mirrors: where device memory finds its mirror; null: MPI is given the array itself.
  StagedBuffer(const Vector<T>& array, MirrorPool* mirrors) : array_(array) {
    if constexpr (!memory_is_on_host) {
      if (mirrors != nullptr) mirror_ = mirrors->take(size(array) * static_cast<std::int64_t>(sizeof(T)));
    }
  }

  /// The array in the memory of the execution space.
  const Vector<T>& array() const { return array_; }

  /// Elements [offset, offset + count) of the array, for a kernel.
  Vector<T> range(std::int64_t offset, std::int64_t count) const {
    return Kokkos::subview(array_, std::make_pair(offset, offset + count));
  }

  /// What MPI is given.
  T* mpi_data() const { return mirror_ ? reinterpret_cast<T*>(mirror_.get()) : array_.data(); }

  /// Waits for the kernels that produce the elements and makes them readable through mpi_data().
  void to_mpi(std::int64_t offset, std::int64_t count, TransportCounters& counters) const {
    if (count == 0) return;
    if (mirror_) {
      copy(host_range(offset, count), range(offset, count));
      counters.device_to_host_bytes += count * static_cast<std::int64_t>(sizeof(T));
    } else {
      current_space().fence();
    }
  }

  /// Makes elements that MPI wrote readable by kernels on the current stream.
  void from_mpi(std::int64_t offset, std::int64_t count, TransportCounters& counters) const {
    if (count == 0 || !mirror_) return;
    copy(range(offset, count), host_range(offset, count));
    counters.host_to_device_bytes += count * static_cast<std::int64_t>(sizeof(T));
  }

  /// Before MPI is given elements to overwrite that kernels may still be reading. A mirror needs no wait: the
  /// copy out of it has ended when from_mpi returns. Nor do kernels of a host build, which end before the
  /// host goes on or are waited for by to_mpi.
  void before_overwrite() const {
    if constexpr (!memory_is_on_host) {
      if (!mirror_) current_space().fence();
    }
  }

 private:
  HostVector<Value> host_range(std::int64_t offset, std::int64_t count) const {
    return HostVector<Value>(reinterpret_cast<Value*>(mirror_.get()) + offset,
                             static_cast<std::size_t>(count));
  }

  Vector<T> array_;
  Mirror mirror_;
};

}  // namespace minigift
