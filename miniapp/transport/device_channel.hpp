#pragma once
// Collectives that run on the device: what the transport needs of NCCL, and nothing else of it.
//
// Everything is enqueued on the current stream (kernels/device/stream.hpp) and computed in its order; the
// host waits for none of it. Buffers are device memory. A second implementation, over MPI, stands in for NCCL
// in the tests.

#include "kernels/format/format.hpp"
#include "miniapp/transport/element.hpp"
#include "miniapp/transport/gpu.hpp"

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace minigift {

class DeviceChannel {
 public:
  virtual ~DeviceChannel() = default;

  /// values (count) <- reduction over the ranks, in the elements' own type.
  virtual void all_reduce(void* values, std::int64_t count, Element element, ElementReduction reduction) = 0;
  /// Part `rank` of values (N * count) <- sum of these parts over the ranks; the others are left as they may.
  virtual void reduce_scatter_sum(void* values, std::int64_t count, Element element) = 0;
  /// As Communicator::all_to_all.
  virtual void all_to_all(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes_per_peer) = 0;
  /// As Communicator::all_gather.
  virtual void all_gather(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes) = 0;

  /// Throws RuntimeError if the library or another rank has met an error since.
  virtual void check() = 0;
  /// Gives up whatever is in flight, so that nothing on the device waits for other ranks any more.
  virtual void abort() noexcept = 0;

  /// Why codes of this format cannot be added, the same on all ranks; empty: they can.
  virtual std::optional<std::string> refuses(Format format) const = 0;
  /// Library, version and the settings that its results depend on, in one line.
  virtual std::string library() const = 0;
};

/// fp32, bf16, e4m3, e5m2. Throws RuntimeError for int8.
Element element_of(Format format);

/// Why NCCL of this version (NCCL_VERSION_CODE, 22809 for 2.28.9) does not add codes of a format on these
/// GPUs; empty: it does. FP8 needs NCCL 2.24 and compute capability 9.0 on every rank.
std::optional<std::string> nccl_refuses(Format format, int version, const std::vector<RankDevice>& devices);

// --- implemented by nccl_device.cpp or, in builds without NCCL, no_nccl.cpp
/// Version of the NCCL library that is loaded, "2.28.9"; empty: this build has no NCCL. Throws RuntimeError
/// if it is older than the one the program was compiled for.
std::string nccl_version();
/// Opens NCCL among the ranks of `communicator`. Collective. `poll` is called again and again while the host
/// waits for NCCL; it may end the program.
std::unique_ptr<DeviceChannel> open_nccl(MPI_Comm communicator, const std::vector<RankDevice>& devices,
                                         std::function<void()> poll);

}  // namespace minigift
