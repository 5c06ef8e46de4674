#pragma once
// Loops over one row by one team. On a host a team is one thread and the loop is left to the vectoriser; on a
// GPU the elements are spread over the threads of the team. The body must treat the elements independently of
// each other.

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/math.hpp"
#include "kernels/nn/lanes.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace minigift {

/// One team for each of `rows` rows of `length` elements. On a GPU whole warps, about eight elements to a
/// thread: enough teams to a multiprocessor to hide the latency of memory, enough elements to pay for the
/// reductions.
inline Team row_policy(std::int64_t rows, std::int64_t length) {
  require(rows <= std::numeric_limits<int>::max(), "{} rows exceed what one launch can hold", rows);
  const std::int64_t threads =
      math::min(math::max((length / 8 + 31) / 32 * 32, std::int64_t{64}), std::int64_t{256});
  return Team(current_space(), static_cast<int>(rows), threads_on_host ? 1 : static_cast<int>(threads));
}

/// body(i) for i in [0, count).
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void row_for(const TeamMember& team, std::int64_t count, const Body& body) {
  if constexpr (scalar_lanes) {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), body);
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i)
      body(i);
  }
}

/// Sum of term(i) for i in [0, count), the same on every thread. term may also write element i. On a host,
/// pieces of 1024 are summed in S and the pieces in double, so that the error does not grow with the length
/// of the row.
template <class S, class Term>
KOKKOS_FORCEINLINE_FUNCTION double row_sum(const TeamMember& team, std::int64_t count, const Term& term) {
  double total = 0;
  if constexpr (scalar_lanes) {
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, count),
        [&](std::int64_t i, double& sum) { sum += static_cast<double>(term(i)); }, total);
  } else {
    constexpr std::int64_t piece = 1024;
    for (std::int64_t begin = 0; begin < count; begin += piece) {
      const std::int64_t end = math::min(count, begin + piece);
      S sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = begin; i < end; ++i)
        sum += term(i);
      total += static_cast<double>(sum);
    }
  }
  return total;
}

/// Largest term(i) for i in [0, count), minus infinity for an empty row. A NaN may be passed over.
template <class S, class Term>
KOKKOS_FORCEINLINE_FUNCTION S row_max(const TeamMember& team, std::int64_t count, const Term& term) {
  S largest = -Kokkos::Experimental::infinity<S>::value;
  if constexpr (scalar_lanes) {
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, count),
        [&](std::int64_t i, S& found) { found = math::max(term(i), found); }, Kokkos::Max<S>(largest));
  } else {
#pragma omp simd reduction(max : largest)
    for (std::int64_t i = 0; i < count; ++i)
      largest = math::max(term(i), largest);
  }
  return largest;
}

/// Pieces of a long array, one to a team of 256 threads on a GPU.
template <class Body>
struct ElementPieces {
  static constexpr std::int64_t piece = 4096;
  std::int64_t count;
  Body body;

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t begin = team.league_rank() * piece;
    const std::int64_t left = count - begin;
    row_for(team, left < piece ? left : piece, [&](std::int64_t i) { body(begin + i); });
  }
};

/// body(i) for i in [0, count).
template <class Body>
void for_each_element(const char* label, std::int64_t count, const Body& body) {
  constexpr std::int64_t piece = ElementPieces<Body>::piece;
  Kokkos::parallel_for(label, row_policy((count + piece - 1) / piece, piece / 2),
                       ElementPieces<Body>{count, body});
}

/// A result in S as it is stored in Y.
template <class Y, class S>
KOKKOS_FORCEINLINE_FUNCTION Y stored_as(S value) {
  if constexpr (std::is_same_v<Y, bfloat16>) {
    return to_bfloat16(value);
  } else {
    return value;
  }
}

template <class View>
void require_shape(const char* layer, const char* name, const View& view, std::int64_t rows,
                   std::int64_t columns) {
  require(extent(view, 0) == rows && extent(view, 1) == columns, "{}: {} is ({}, {}), expected ({}, {})",
          layer, name, extent(view, 0), extent(view, 1), rows, columns);
}
template <class View>
void require_length(const char* layer, const char* name, const View& view, std::int64_t length) {
  require(size(view) == length, "{}: {} has {} elements, expected {}", layer, name, size(view), length);
}

}  // namespace minigift
