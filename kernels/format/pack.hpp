#pragma once
// Neighbouring elements that a GPU thread moves in one access, of 16 bytes at most.

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

/// `width` elements, a power of two, aligned as a whole. May lie over an array of T.
template <class T, int width>
struct [[gnu::may_alias]] alignas(sizeof(T) * width) Pack {
  static_assert(sizeof(T) * width <= 16);
  T value[width];
};

/// Whether packs can be read from or written to this address.
template <int width, class T>
KOKKOS_FORCEINLINE_FUNCTION bool is_aligned(const T* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(Pack<T, width>) == 0;
}

/// The elements from `from` on, which is aligned to the pack.
template <int width, class T>
KOKKOS_FORCEINLINE_FUNCTION Pack<T, width> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, width>*>(from);
}

template <int width, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_pack(const Pack<T, width>& pack, T* to) {
  *reinterpret_cast<Pack<T, width>*>(to) = pack;
}

}  // namespace minigift
