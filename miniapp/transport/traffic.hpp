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
  /// Bytes this rank sent. Point-to-point algorithms (native_all_reduce, all_to_all, all_gather) count the
  /// bytes handed to MPI_Isend. Reductions and broadcasts of the MPI library hide their messages; they are
  /// charged by the closed forms of their bandwidth-optimal algorithms: 2(N-1)/N * bytes for an all-reduce
  /// (ring), (N-1)/N * bytes for a broadcast (its (N-1) * bytes spread over N ranks), rounded down.
  std::int64_t bytes_sent = 0;
  /// Calls of MPI_Isend; a collective of the MPI library counts once for each piece.
  std::int64_t messages = 0;
  /// Collective operations started.
  std::int64_t collectives = 0;
};

struct TransportCounters {
  TrafficCounters payload;
  TrafficCounters metadata;
  TrafficCounters control;
  /// Bytes copied between device and host memory because the MPI library was given host buffers. 0 on a host
  /// build.
  std::int64_t device_to_host_bytes = 0;
  std::int64_t host_to_device_bytes = 0;

  TrafficCounters& of(Traffic traffic);
};

/// What happened between two readings.
TransportCounters operator-(const TransportCounters& after, const TransportCounters& before);

}  // namespace minigift
