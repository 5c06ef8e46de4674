#pragma once
// Maxima of magnitudes by integers: the bit patterns of non-negative floats are ordered as their values, and
// NaN lies above infinity. A maximum does not depend on the order of evaluation.

#include "kernels/bit_cast.hpp"
#include "kernels/scalar_lanes.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

KOKKOS_FORCEINLINE_FUNCTION std::uint32_t magnitude(float value) {
  return bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu;
}

/// amax <- max(amax, the magnitude with these bits), NaN as infinity. By one thread of each tile.
KOKKOS_FORCEINLINE_FUNCTION void raise_amax(float& amax, std::uint32_t largest) {
  const std::uint32_t infinity = 0x7F800000u;
  const std::uint32_t bits = largest > infinity ? infinity : largest;
  if (bits == 0) return;
  if constexpr (scalar_lanes) {
    // An integer maximum is one instruction of a GPU's memory, a floating-point one a loop.
    Kokkos::atomic_fetch_max(reinterpret_cast<std::uint32_t*>(&amax), bits);
  } else {
    Kokkos::atomic_fetch_max(&amax, bit_cast<float>(bits));
  }
}

}  // namespace minigift
