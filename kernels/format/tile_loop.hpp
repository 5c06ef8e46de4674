#pragma once
// The loops of every kernel here. One team has one tile. On a host a team is one thread; it takes the tile in
// spans, each with a loop that vectorises. On a GPU a team is tile_threads threads; each takes packs of
// neighbouring elements, neighbouring threads neighbouring packs, so that memory is read and written in whole
// lines.

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/format/pack.hpp"
#include "kernels/scalar_lanes.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace minigift {

/// Threads of a team on a GPU: with 4096 elements to a tile each has 16, four accesses of 16 bytes to FP32,
/// and eight teams fill a multiprocessor of 2048 threads: 32 KB in flight in each, several times bandwidth
/// times latency.
inline constexpr int tile_threads = 256;

/// One team for each of `teams`.
inline Team tile_policy(std::int64_t teams) {
  require(teams <= std::numeric_limits<int>::max(), "{} tiles in one call: at most 2^31 - 1 are possible",
          teams);
  return Team(current_space(), static_cast<int>(teams), threads_on_host ? 1 : tile_threads);
}

// --- Host ---

/// Elements per span where a span can be any length: with its codes and residual it stays in the first-level
/// cache.
inline constexpr int span_elements = 512;

/// Sum type for counts within a span: short, so that a vector register holds many.
using SpanCount = std::uint16_t;

/// body(first, count) for every span of `count` elements, by the threads of the team.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_spans(const TeamMember& member, int count, const Body& body) {
  const int spans = (count + span_elements - 1) / span_elements;
  Kokkos::parallel_for(Kokkos::TeamThreadRange(member, spans), [&](int span) {
    const int first = span * span_elements;
    const int left = count - first;
    body(first, left < span_elements ? left : span_elements);
  });
}

/// body(i) for i = 0 ... count - 1.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_lanes(int count, const Body& body) {
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    body(i);
  }
}

/// The sum of body(i).
template <class Value, class Body>
KOKKOS_FORCEINLINE_FUNCTION Value sum_lanes(int count, const Body& body) {
  Value total = 0;
#pragma omp simd reduction(+ : total)
  for (int i = 0; i < count; ++i) {
    total = static_cast<Value>(total + body(i));
  }
  return total;
}

/// The maximum of body(i), 0 if there are no elements.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t max_lanes(int count, const Body& body) {
  std::uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (int i = 0; i < count; ++i) {
    const std::uint32_t value = body(i);
    largest = value > largest ? value : largest;
  }
  return largest;
}

// --- GPU ---

/// body(first, integral constant width) for packs of `width` neighbouring elements, and with width 1 for
/// those left over, or for all where the buffers are not `aligned` to packs. By the threads of the team.
template <int width, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_packs(const TeamMember& member, int count, bool aligned,
                                           const Body& body) {
  const int packs = aligned ? count / width : 0;
  const int rest = count - packs * width;
  Kokkos::parallel_for(Kokkos::TeamThreadRange(member, packs + rest), [&](int n) {
    if (n < packs) {
      body(n * width, std::integral_constant<int, width>{});
    } else {
      body(packs * (width - 1) + n, std::integral_constant<int, 1>{});
    }
  });
}

/// The same with values that are combined by `Reducer`, Kokkos::Sum or Kokkos::Max, in an order that `count`
/// fixes.
template <int width, template <class...> class Reducer, class Value, class Body>
KOKKOS_FORCEINLINE_FUNCTION Value reduce_packs(const TeamMember& member, int count, bool aligned,
                                               const Body& body) {
  const int packs = aligned ? count / width : 0;
  const int rest = count - packs * width;
  Value result = 0;
  Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(member, packs + rest),
      [&](int n, Value& partial) {
        const Value value = n < packs ? body(n * width, std::integral_constant<int, width>{})
                                      : body(packs * (width - 1) + n, std::integral_constant<int, 1>{});
        Reducer<Value>(partial).join(partial, value);
      },
      Reducer<Value>(result));
  return result;
}

}  // namespace minigift
