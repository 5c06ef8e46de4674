#pragma once
// BF16: the upper half of an IEEE binary32 (1 sign, 8 exponent, 7 mantissa bits, bias 127).
//
// The conversion from float is round-to-nearest-even on the bit pattern, so subnormals need no special case
// and no floating-point operation is involved (a flush-to-zero mode cannot change it). Overflow gives
// infinity, as in cuda_bf16.h; every NaN becomes the quiet NaN 0x7FFF of __float2bfloat16_rn, sign dropped.

#include "kernels/bit_cast.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

struct bfloat16 {
  std::uint16_t bits;
};

KOKKOS_FORCEINLINE_FUNCTION float to_float(bfloat16 value) {
  return bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

KOKKOS_FORCEINLINE_FUNCTION bfloat16 to_bfloat16(float value) {
  const auto bits = bit_cast<std::uint32_t>(value);
  // Adding just under half a unit, plus the last kept bit, carries exactly when nearest-even rounds up.
  const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return {static_cast<std::uint16_t>(is_nan ? 0x7FFFu : rounded)};
}

/// Stochastic rounding: adds 16 random bits below the kept ones, then truncates. The probability of rounding
/// away from zero is the discarded fraction exactly. `random` is one uniform 32-bit word. Infinity and NaN
/// are kept.
KOKKOS_FORCEINLINE_FUNCTION bfloat16 to_bfloat16_stochastic(float value, std::uint32_t random) {
  const auto bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  // The 16 discarded bits of infinity are zero, so it survives the addition.
  const std::uint32_t rounded = (bits + (random >> 16)) >> 16;
  return {static_cast<std::uint16_t>(magnitude > 0x7F800000u ? 0x7FFFu : rounded)};
}

}  // namespace minigift
