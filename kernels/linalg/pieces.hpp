#pragma once
// How work on contiguous elements is cut. How many neighbouring elements one parallel iteration takes: a run
// that fills vector registers on a host, one on a GPU, where neighbouring threads take neighbouring elements.
// And how many threads share a row.

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace minigift::linalg {

inline constexpr bool runs_on_host = std::is_same_v<ExecutionSpace, Kokkos::DefaultHostExecutionSpace>;
inline constexpr std::int64_t piece_elements = runs_on_host ? 1024 : 1;

/// Number of pieces of `width` that cover `count`.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t piece_count(std::int64_t count, std::int64_t width) {
  return (count + width - 1) / width;
}

/// One team per row on the current stream. On a GPU between one warp and 256 threads, about a quarter as many
/// as a row has elements; depends on the shape alone, so sums over a row repeat their bits.
inline Team row_teams(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t limit = std::numeric_limits<int>::max();
  require(rows <= limit, "sums by row: {} rows, at most {} teams can be launched", rows, limit);
  int threads = 1;
  if constexpr (!runs_on_host) {
    threads = 32;
    while (threads < 256 && 8 * threads <= columns)
      threads *= 2;
  }
  return Team(current_space(), static_cast<int>(rows), threads);
}

}  // namespace minigift::linalg
