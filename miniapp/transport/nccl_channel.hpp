#pragma once
// An NCCL communicator: plain pointers and CUDA streams, neither Kokkos nor MPI, so that builds without a
// Kokkos for GPUs compile it too.
//
// The communicator is non-blocking (ncclConfig_t::blocking = 0): calls of NCCL that have to wait for other
// ranks return at once, and we ask for their end again and again, calling `poll` in between, which may end
// the program when that takes too long. When a method has returned, the work is on its stream.

#include "miniapp/transport/element.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

struct CUstream_st;  // *CUstream_st is cudaStream_t
struct ncclComm;     // *ncclComm is ncclComm_t

namespace minigift {

/// NCCL_VERSION_CODE of the header this program was compiled with: 22809 for 2.28.9.
int nccl_compiled_version();
/// The same of the library that is loaded. Throws RuntimeError if it is older.
int nccl_loaded_version();
/// 22809 -> "2.28.9".
std::string nccl_version_text(int version);

class NcclChannel {
 public:
  using Stream = CUstream_st*;
  using Poll = std::function<void()>;
  /// What rank 0 makes and all ranks need: an ncclUniqueId.
  using Id = std::array<char, 128>;

  static Id make_id();

  /// Collective over the ranks that share `id`, on each rank's current device. Throws RuntimeError.
  NcclChannel(const Id& id, int rank, int size, Poll poll);
  /// Collective; abort() instead if an exception is unwinding the stack.
  ~NcclChannel();
  NcclChannel(const NcclChannel&) = delete;
  NcclChannel& operator=(const NcclChannel&) = delete;

  /// values (count) <- reduction over the ranks. The order of addition is NCCL's, as are its roundings: FP8
  /// is rounded (and saturated) at every hop.
  void all_reduce(void* values, std::int64_t count, Element element, ElementReduction reduction,
                  Stream stream);
  /// Part `rank` of values (N * count) <- sum of these parts over the ranks, order and roundings as above.
  void reduce_scatter_sum(void* values, std::int64_t count, Element element, Stream stream);
  /// Rank r's part p of send becomes part r of rank p's receive; all parts of bytes_per_peer.
  void all_to_all(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes_per_peer,
                  Stream stream);
  /// receive (N * bytes) <- send (bytes) of all ranks. send may be this rank's part of receive.
  void all_gather(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes, Stream stream);

  /// Throws RuntimeError if NCCL has met an error since.
  void check() const;
  /// Gives up all work in flight. Nothing but the destructor may follow.
  void abort() noexcept;

 private:
  /// Waits for the end of a call that may return ncclInProgress. Throws RuntimeError. (int: ncclResult_t)
  void settle(int result, const char* call) const;

  int rank_;
  int size_;
  Poll poll_;
  ncclComm* communicator_ = nullptr;
  int exceptions_;
};

}  // namespace minigift
