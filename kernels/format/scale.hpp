#pragma once
// The two scale rules, per group. See quantize.hpp for their place. Products here are exact in double (24 +
// 24 bits).

#include "kernels/bit_cast.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

/// Scales stay within these, so that both scale and 1/scale are normal floats.
inline constexpr float min_scale = 0x1p-126f;
inline constexpr float max_scale = 0x1p126f;

/// The smallest power of two s, within [min_scale, max_scale], with amax * headroom <= max_finite * s.
KOKKOS_INLINE_FUNCTION float power_of_two_scale(float amax, float headroom, float max_finite) {
  const auto amax_bits = bit_cast<std::uint32_t>(amax) & 0x7FFFFFFFu;
  if (amax_bits == 0) return 1.0f;
  if (amax_bits >= 0x7F800000u) return bit_cast<float>(0x7F800000u);
  // Both are normal doubles m * 2^e with 1 <= m < 2: the exponents give s but for one factor of two, the
  // mantissas that.
  const auto target = bit_cast<std::uint64_t>(static_cast<double>(amax) * static_cast<double>(headroom));
  const auto limit = bit_cast<std::uint64_t>(static_cast<double>(max_finite));
  const std::uint64_t mantissa = (std::uint64_t{1} << 52) - 1;
  auto exponent = static_cast<std::int64_t>(target >> 52) - static_cast<std::int64_t>(limit >> 52);
  if ((target & mantissa) > (limit & mantissa)) ++exponent;
  exponent = exponent < -126 ? -126 : exponent;
  exponent = exponent > 126 ? 126 : exponent;
  return bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// The smallest float s, within [min_scale, max_scale], with amax * headroom <= max_finite * s.
KOKKOS_INLINE_FUNCTION float smallest_scale(float amax, float headroom, float max_finite) {
  const auto amax_bits = bit_cast<std::uint32_t>(amax) & 0x7FFFFFFFu;
  if (amax_bits == 0) return 1.0f;
  if (amax_bits >= 0x7F800000u) return bit_cast<float>(0x7F800000u);
  const double target = static_cast<double>(amax) * static_cast<double>(headroom);
  const double limit = static_cast<double>(max_finite);
  const double quotient = target / limit;
  if (quotient <= static_cast<double>(min_scale)) return min_scale;
  if (quotient >= static_cast<double>(max_scale)) return max_scale;
  // Rounding the quotient to float may have gone down by less than one unit in the last place.
  const float nearest = static_cast<float>(quotient);
  const bool too_small = static_cast<double>(nearest) * limit < target;
  return bit_cast<float>(bit_cast<std::uint32_t>(nearest) + (too_small ? 1u : 0u));
}

}  // namespace minigift
