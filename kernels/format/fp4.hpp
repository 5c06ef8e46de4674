#pragma once
// E2M1, the 4-bit floating-point format of "OCP Microscaling Formats (MX) Specification" v1.0: sign, 2
// exponent bits, 1 mantissa bit, bias 1; the values are 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives,
// without infinity and NaN. Conversion rules as those of cuda_fp4.h: round to nearest even; what lies beyond
// 6, infinity included, becomes 6 with its sign; NaN becomes +6, so that a caller must mark it elsewhere
// (block formats do in the scale of the block).

#include "kernels/format/fp8.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

struct E2M1 {
  static constexpr std::uint32_t max_finite_bits = 0x40C00000u;  // 6

  /// The code in the low four bits: sign, exponent, mantissa.
  KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t encode(float value) {
    const std::uint32_t code = Wide::encode(value);
    return static_cast<std::uint8_t>((code & 0x7u) | ((code >> 4) & 0x8u));
  }
  /// Of the low four bits; the others are ignored.
  KOKKOS_FORCEINLINE_FUNCTION static float decode(std::uint8_t code) {
    const std::uint32_t bits = code;
    return Wide::decode(static_cast<std::uint8_t>((bits & 0x7u) | ((bits & 0x8u) << 4)));
  }

 private:
  /// The same magnitudes with the sign in bit 7.
  using Wide = Float8<1, 1, 0x7u, false>;
};

}  // namespace minigift
