#pragma once
// What one thread computes on at once. On a host a thread holds vector registers, so that a small array of
// them stays in the register file whatever the optimiser thinks of it; on a GPU a thread holds scalars and
// the team is the vector.

#include "kernels/scalar_lanes.hpp"

#include <Kokkos_Core.hpp>

#include <cstring>

namespace minigift {

#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
inline constexpr int register_count = 32;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32;
inline constexpr int register_count = 16;
#elif defined(__aarch64__)
inline constexpr int register_bytes = 16;
inline constexpr int register_count = 32;
#else
inline constexpr int register_bytes = 16;
inline constexpr int register_count = 16;
#endif

template <class S, bool scalar>
struct LanesOf {
  using type = S;
};
template <>
struct LanesOf<float, false> {
  typedef float type __attribute__((vector_size(register_bytes)));
};
template <>
struct LanesOf<double, false> {
  typedef double type __attribute__((vector_size(register_bytes)));
};

/// As many S as one thread computes on at once, with the arithmetic operators of S; a scalar operand is
/// repeated.
template <class S>
using Lanes = typename LanesOf<S, scalar_lanes>::type;

/// How many S are in Lanes<S>.
template <class S>
inline constexpr int lane_count = static_cast<int>(sizeof(Lanes<S>) / sizeof(S));

template <class S>
KOKKOS_FORCEINLINE_FUNCTION void load(const S* from, Lanes<S>& to) {
  memcpy(&to, from, sizeof(to));
}
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void store(const Lanes<S>& from, S* to) {
  memcpy(to, &from, sizeof(from));
}

}  // namespace minigift
