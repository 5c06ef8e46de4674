#pragma once
// Reinterpretation of bits that works in host and device code of every compiler we meet.

#include <Kokkos_Core.hpp>

#include <cstring>
#include <type_traits>

namespace minigift {

/// By value: a reference would need the address of constants, which exist on the host alone under nvcc.
template <class To, class From>
KOKKOS_FORCEINLINE_FUNCTION To bit_cast(const From from) {
  static_assert(sizeof(To) == sizeof(From));
  static_assert(std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>);
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

}  // namespace minigift
