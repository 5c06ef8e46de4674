#pragma once
// What travels, and how much of it: the counters behind every "wire bytes" figure.

#include <cstdint>

namespace minigift {

/// What a message is for. Bytes of the three kinds are never added together silently.
enum class Traffic {
  payload,   ///< encoded gradients
  metadata,  ///< what decoding needs besides: scales, maxima, bases
  control,   ///< everything else: losses, norms, signatures, agreement, set-up
};

/// Sums over the calls of one kind, for this rank alone.
struct TrafficCounters {
  /// Bytes this rank sent. Over MPI, point-to-point algorithms (native_all_reduce, all_to_all, all_gather)
  /// count the bytes handed to MPI_Isend. Reductions and broadcasts of the MPI library and everything that
  /// NCCL does hide their messages; they are charged by the closed forms below, which for native_all_reduce,
  /// all_to_all and all_gather give what the MPI path counts.
  std::int64_t bytes_sent = 0;
  /// Calls of MPI_Isend, or ncclSend; a collective of the MPI library counts once for each piece, one of NCCL
  /// once.
  std::int64_t messages = 0;
  /// Collective operations started.
  std::int64_t collectives = 0;
};

struct TransportCounters {
  TrafficCounters payload;
  TrafficCounters metadata;
  TrafficCounters control;
  /// Bytes copied between device and host memory because the MPI library was given host buffers. 0 on a host
  /// build. With NCCL only broadcasts add to them, with MPI on device memory broadcasts and reductions.
  std::int64_t device_to_host_bytes = 0;
  std::int64_t host_to_device_bytes = 0;

  TrafficCounters& of(Traffic traffic);
};

// Bytes that each of N ranks sends, by the bandwidth-optimal algorithms, rounded down.

/// 2(N-1)/N * bytes: a ring, reduce-scatter and all-gather.
std::int64_t all_reduce_wire_bytes(std::int64_t ranks, std::int64_t bytes);
/// (N-1)/N * bytes: the first half of that ring.
std::int64_t reduce_scatter_wire_bytes(std::int64_t ranks, std::int64_t bytes);
/// (N-1) * bytes: one block of `bytes` to each other rank. all_to_all, all_gather.
std::int64_t block_exchange_wire_bytes(std::int64_t ranks, std::int64_t bytes);
/// (N-1)/N * bytes: the (N-1) * bytes that must be sent, spread over the ranks.
std::int64_t broadcast_wire_bytes(std::int64_t ranks, std::int64_t bytes);

/// What happened between two readings.
TransportCounters operator-(const TransportCounters& after, const TransportCounters& before);

}  // namespace minigift
