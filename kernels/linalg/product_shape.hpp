#pragma once
// The shape of a product in plain numbers: what every library below gemm.hpp is given. Needs no Kokkos.

#include <cstdint>

namespace minigift::linalg {

/// c (m, n) = alpha op(a) op(b) + beta c, row-major and contiguous; all extents positive.
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;

  bool operator==(const ProductShape&) const = default;
};

/// Hash of a shape and of further words that tell one plan for it from another.
template <class... Words>
std::uint64_t hash_of(const ProductShape& shape, Words... words) {
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  };
  mix(static_cast<std::uint64_t>(shape.m));
  mix(static_cast<std::uint64_t>(shape.n));
  mix(static_cast<std::uint64_t>(shape.k));
  mix((shape.transpose_a ? 1u : 0u) + (shape.transpose_b ? 2u : 0u));
  (mix(static_cast<std::uint64_t>(words)), ...);
  return hash;
}

}  // namespace minigift::linalg
