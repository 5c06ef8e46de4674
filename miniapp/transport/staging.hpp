#pragma once
// Which memory a collective reads and writes, and who moves it: the choice, made once per communicator.

#include "kernels/view.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace minigift {

/// How arrays in the memory of the execution space get from rank to rank. Single values, texts, barriers and
/// broadcasts always go through MPI on host memory.
enum class Staging {
  automatic,  ///< the best that is possible, see choose_staging; Communicator::description() says which
  host,       ///< MPI gets host memory; device arrays are copied through host mirrors
  direct,     ///< MPI gets device arrays for what we send point to point (native_all_reduce, all_to_all,
              ///< all_gather). Its own reductions get host memory: on device buffers they crash in released
              ///< libraries (open-mpi/ompi#9845, #12045; pmodels/mpich#5643)
  nccl,       ///< NCCL, on the device's streams
};

/// "automatic", "host", "direct", "nccl".
const char* name(Staging staging);
/// The inverse of name(). Throws UsageError that lists the known names.
Staging staging_from_name(const std::string& text);

/// Whether MPI and host code can read the arrays of kernels/view.hpp where they lie.
inline constexpr bool memory_is_on_host =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;

/// What the choice depends on: the same on all ranks.
struct StagingFacts {
  bool memory_is_on_host = true;
  std::string nccl;          ///< version; empty: not compiled in
  bool shared_gpus = false;  ///< two ranks use one GPU, which NCCL refuses
  /// Whether the MPI library says that it takes device memory, on every rank. Empty: it does not say.
  std::optional<bool> mpi_takes_device_memory;
};

struct StagingChoice {
  Staging staging = Staging::host;  ///< never automatic
  std::string reason;               ///< empty where there was nothing to choose
};

/// host where arrays are host memory. Else what is wanted, if it can be; automatic is
///   nccl    where it is compiled in and every rank has a GPU of its own,
///   direct  else, where each rank has a GPU of its own and MPI says that it takes device memory,
///   host    else.
/// `direct` may be asked for against the library's word: some do not say. Throws UsageError for what cannot
/// be.
StagingChoice choose_staging(Staging wanted, const StagingFacts& facts);

/// "device memory through NCCL 2.28.9 (automatic: ...)", for the header of a run.
std::string describe(const StagingChoice& choice, const StagingFacts& facts);

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
