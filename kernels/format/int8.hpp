#pragma once
// Symmetric INT8: code = clamp(round(x), -127, 127) as two's complement. The spare code -128 (0x80) stands
// for NaN, so that a NaN is not turned into a number. Free of branches; no expression has the form a*b + c.

#include "kernels/bit_cast.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

KOKKOS_FORCEINLINE_FUNCTION std::uint8_t finish_int8(std::uint32_t bits, std::uint32_t magnitude_code) {
  const std::uint32_t negative = 0u - (bits >> 31);
  const std::uint32_t with_sign = (magnitude_code ^ negative) - negative;
  return static_cast<std::uint8_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x80u : with_sign);
}

/// Round to nearest even; infinity and whatever lies beyond 127 become +-127.
KOKKOS_FORCEINLINE_FUNCTION std::uint8_t encode_int8(float value) {
  const auto bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  const std::uint32_t clamped = magnitude < 0x42FE0000u /*127*/ ? magnitude : 0x42FE0000u;
  // The last bit of 2^23 is worth one: the adder rounds to an integer, to nearest even.
  const float shifted = bit_cast<float>(clamped) + 8388608.0f;
  return finish_int8(bits, bit_cast<std::uint32_t>(shifted) - 0x4B000000u);
}

/// Stochastic rounding with one uniform 32-bit word, in 8.23 fixed point: exact where |x| >= 1, and with a
/// bias below 2^-23 where it is smaller.
KOKKOS_FORCEINLINE_FUNCTION std::uint8_t encode_int8_stochastic(float value, std::uint32_t random) {
  const auto bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  const std::uint32_t clamped = magnitude < 0x42FE0000u ? magnitude : 0x42FE0000u;
  const float fixed_point = bit_cast<float>(clamped) * 8388608.0f;
  const auto whole = static_cast<std::uint32_t>(static_cast<std::int32_t>(fixed_point));
  return finish_int8(bits, (whole + (random >> 9)) >> 23);
}

KOKKOS_FORCEINLINE_FUNCTION float decode_int8(std::uint8_t code) {
  const auto value = static_cast<float>(static_cast<std::int8_t>(code));
  return code == 0x80u ? bit_cast<float>(0x7FFFFFFFu) : value;
}

}  // namespace minigift
