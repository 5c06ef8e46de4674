#pragma once
// The three-level loop of every kernel here: one team per tile, its threads over spans of the tile, vector
// lanes over the elements of a span. On the host a team is one thread and the lanes are a simd loop; on a GPU
// the lanes are neighbouring threads, so that memory accesses coalesce.

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/scalar_lanes.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace minigift {

inline constexpr bool lanes_are_simd = !scalar_lanes;

/// Elements per span where a span can be any length. Below 256, so that a count of its elements fits in a
/// byte.
inline constexpr int span_elements = 512;

/// Sum type for counts within a span: a byte lets a vector register hold as many counts as codes; shuffles
/// between GPU threads want a word.
using SpanCount = std::conditional_t<lanes_are_simd, std::uint16_t, std::uint32_t>;

/// One team for each of `teams`; `lanes` is the vector length on a GPU.
inline Team tile_policy(std::int64_t teams, int lanes = 32) {
  require(teams <= std::numeric_limits<int>::max(), "{} tiles in one call: at most 2^31 - 1 are possible",
          teams);
  const int league = static_cast<int>(teams);
  if constexpr (lanes_are_simd) return Team(current_space(), league, 1);
  return Team(current_space(), league, Kokkos::AUTO, lanes);
}

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

/// body(i) for i = 0 ... count - 1, by the lanes of a thread.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_lanes([[maybe_unused]] const TeamMember& member, int count,
                                           const Body& body) {
  if constexpr (lanes_are_simd) {
#pragma omp simd
    for (int i = 0; i < count; ++i) {
      body(i);
    }
  } else {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, count), body);
  }
}

/// The sum of body(i).
template <class Value, class Body>
KOKKOS_FORCEINLINE_FUNCTION Value sum_lanes([[maybe_unused]] const TeamMember& member, int count,
                                            const Body& body) {
  Value total = 0;
  if constexpr (lanes_are_simd) {
#pragma omp simd reduction(+ : total)
    for (int i = 0; i < count; ++i) {
      total = static_cast<Value>(total + body(i));
    }
  } else {
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(member, count), [&](int i, Value& partial) { partial += body(i); }, total);
  }
  return total;
}

/// The maximum of body(i), 0 if there are no elements.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t max_lanes([[maybe_unused]] const TeamMember& member, int count,
                                                    const Body& body) {
  std::uint32_t largest = 0;
  if constexpr (lanes_are_simd) {
#pragma omp simd reduction(max : largest)
    for (int i = 0; i < count; ++i) {
      const std::uint32_t value = body(i);
      largest = value > largest ? value : largest;
    }
  } else {
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(member, count),
        [&](int i, std::uint32_t& partial) {
          const std::uint32_t value = body(i);
          partial = value > partial ? value : partial;
        },
        Kokkos::Max<std::uint32_t>(largest));
  }
  return largest;
}

}  // namespace minigift
