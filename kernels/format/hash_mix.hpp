#pragma once
// The mixing function of content_hash.

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace minigift {

/// For a fixed index this is a bijection of 64-bit words (odd multiplier, then Stafford's variant 13 of the
/// MurmurHash3 finalizer), so a changed word always changes the result.
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t hash_mix(std::uint64_t index, std::uint64_t word) {
  std::uint64_t z = word * 0xD6E8FEB86659FD93u + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace minigift
