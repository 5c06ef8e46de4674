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

}  // namespace minigift::linalg
