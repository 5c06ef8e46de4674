#pragma once
// How many neighbouring elements one parallel iteration takes: a run that fills vector registers on a host,
// one on a GPU, where neighbouring threads take neighbouring elements.

#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace minigift::linalg {

inline constexpr bool runs_on_host = std::is_same_v<ExecutionSpace, Kokkos::DefaultHostExecutionSpace>;
inline constexpr std::int64_t piece_elements = runs_on_host ? 1024 : 1;

/// Number of pieces of `width` that cover `count`.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t piece_count(std::int64_t count, std::int64_t width) {
  return (count + width - 1) / width;
}

}  // namespace minigift::linalg
