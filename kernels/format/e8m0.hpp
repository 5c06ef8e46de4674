#pragma once
// E8M0, the scale of an MX block ("OCP Microscaling Formats (MX) Specification" v1.0): code c means 2^(c -
// 127), c = 255 means NaN. All are floats; 2^-127 is a denormal one.

#include "kernels/bit_cast.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

/// How the exponent of a block's scale follows from the largest magnitude of the block.
///   rounded_up  the smallest power of two with amax <= max_finite * scale: nothing saturates
///   truncated   2^(floor(log2 amax) - floor(log2 max_finite)), the sample rule of the OCP specification:
///   amax
///               lies in the format's top binade, and what exceeds max_finite * scale there saturates
enum class MxScaleRule { rounded_up, truncated };

KOKKOS_FORCEINLINE_FUNCTION float decode_e8m0(std::uint8_t code) {
  const std::uint32_t exponent = code;
  const std::uint32_t normal = exponent << 23;
  const std::uint32_t finite = exponent == 0 ? 0x00400000u : normal;
  return bit_cast<float>(exponent == 255u ? 0x7FFFFFFFu : finite);
}

/// The code for a block whose largest magnitude has the bits `amax`; the bits of infinity or NaN give 255.
/// The exponent is kept within -127 ... 127; zero gives code 0, the neutral element of a MAX over scales.
/// `max_finite` holds the bits of the elements' largest value, at least 2.
KOKKOS_FORCEINLINE_FUNCTION std::uint8_t encode_e8m0(std::uint32_t amax, std::uint32_t max_finite,
                                                     MxScaleRule rule) {
  constexpr std::uint32_t mantissa = 0x007FFFFFu;
  // Denormal floats count as one binade here, 2^-127 to 2^-126: the scale is 2^-127 for all of them anyway.
  auto exponent = static_cast<std::int32_t>(amax >> 23) - static_cast<std::int32_t>(max_finite >> 23) + 127;
  const bool beyond = (amax & mantissa) > (max_finite & mantissa);
  exponent += rule == MxScaleRule::rounded_up && beyond ? 1 : 0;
  exponent = exponent < 0 ? 0 : exponent;
  exponent = exponent > 254 ? 254 : exponent;
  return static_cast<std::uint8_t>(amax >= 0x7F800000u ? 255 : exponent);
}

}  // namespace minigift
