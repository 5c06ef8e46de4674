#pragma once
// The two 8-bit floating-point formats of "OCP 8-bit Floating Point Specification (OFP8)", with the
// conversion rules of cuda_fp8.h in its SATFINITE mode:
//
//   format   sign exponent mantissa  bias  largest   smallest normal  smallest subnormal  Inf   NaN
//   E4M3       1      4       3        7      448        2^-6             2^-9            none  S.1111.111
//   E5M2       1      5       2       15    57344        2^-14            2^-16           S.11111.00
//   S.11111.{01,10,11}
//
// encode: round to nearest even; what lies beyond the largest finite value, infinity included, becomes that
// value with its sign; every NaN becomes the positive code 0x7F. decode: exact; every NaN code gives the
// float NaN 0x7FFFFFFF.
//
// All functions are free of branches and of denormal float arithmetic, so they vectorise on a CPU, run
// unchanged on a GPU, and do not depend on a flush-to-zero mode. No expression has the form a*b + c, so a
// compiler that contracts multiply-adds changes nothing.

#include "kernels/bit_cast.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

/// The codec of a format with `MantissaBits` stored mantissa bits, exponent bias `Bias` and largest finite
/// code `MaxCode`. Larger codes are NaN, and infinity when HasInfinity and code == MaxCode + 1.
template <int MantissaBits, int Bias, std::uint32_t MaxCode, bool HasInfinity>
struct Float8 {
  static constexpr int dropped_bits = 23 - MantissaBits;
  static constexpr std::uint32_t min_normal_code = 1u << MantissaBits;
  /// Code c of a normal number, shifted into place, has the exponent field e where a float has e - Bias +
  /// 127.
  static constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - Bias) << 23;
  static constexpr std::uint32_t max_finite_bits = (MaxCode << dropped_bits) + rebias;
  static constexpr std::uint32_t min_normal_bits = static_cast<std::uint32_t>(1 - Bias + 127) << 23;
  /// The float whose last bit is worth one smallest subnormal, 2^(1 - Bias - MantissaBits): adding a smaller
  /// value to it rounds that value to a multiple of the subnormal, to nearest even, in the adder itself.
  static constexpr std::uint32_t subnormal_magic_bits =
      static_cast<std::uint32_t>(1 - Bias - MantissaBits + 23 + 127) << 23;
  /// Factor that makes one smallest subnormal 2^fraction_bits, so that a subnormal magnitude stays below
  /// 2^31.
  static constexpr int fraction_bits = 31 - MantissaBits;
  static constexpr std::uint32_t subnormal_factor_bits =
      static_cast<std::uint32_t>(fraction_bits - (1 - Bias - MantissaBits) + 127) << 23;

  KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t encode(float value) {
    const auto bits = bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    const std::uint32_t clamped = magnitude < max_finite_bits ? magnitude : max_finite_bits;
    const std::uint32_t last_kept = (clamped >> dropped_bits) & 1u;
    const std::uint32_t half_below = (1u << (dropped_bits - 1)) - 1u;
    const std::uint32_t normal = (clamped - rebias + half_below + last_kept) >> dropped_bits;
    const float shifted = bit_cast<float>(clamped) + bit_cast<float>(subnormal_magic_bits);
    const std::uint32_t subnormal = bit_cast<std::uint32_t>(shifted) - subnormal_magic_bits;
    return finish(bits, clamped < min_normal_bits ? subnormal : normal);
  }

  /// Stochastic rounding with one uniform 32-bit word. Normal range: the probability of rounding away from
  /// zero is the discarded fraction exactly. Subnormal range: that fraction cut to `fraction_bits` bits (28
  /// or 29), so the bias is below 2^-28 of the smallest subnormal. Clamped values are biased, necessarily.
  KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t encode_stochastic(float value, std::uint32_t random) {
    const auto bits = bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    const std::uint32_t clamped = magnitude < max_finite_bits ? magnitude : max_finite_bits;
    const std::uint32_t normal = (clamped - rebias + (random >> (32 - dropped_bits))) >> dropped_bits;
    // Only values below the smallest normal are used; the others are replaced so that the conversion cannot
    // overflow.
    const float small = bit_cast<float>(clamped < min_normal_bits ? clamped : 0u);
    const float fixed_point = small * bit_cast<float>(subnormal_factor_bits);
    const auto whole = static_cast<std::uint32_t>(static_cast<std::int32_t>(fixed_point));
    const std::uint32_t subnormal = (whole + (random >> (32 - fraction_bits))) >> fraction_bits;
    return finish(bits, clamped < min_normal_bits ? subnormal : normal);
  }

  KOKKOS_FORCEINLINE_FUNCTION static float decode(std::uint8_t code) {
    const std::uint32_t magnitude = code & 0x7Fu;
    const bool is_subnormal = magnitude < min_normal_code;
    // A subnormal m 2^-k is (1 + m 2^-MantissaBits) 2^(1-Bias) less its leading one.
    const std::uint32_t placed = (magnitude << dropped_bits) + rebias + (is_subnormal ? 0x00800000u : 0u);
    const float leading = bit_cast<float>(is_subnormal ? min_normal_bits : 0u);
    auto result = bit_cast<std::uint32_t>(bit_cast<float>(placed) - leading);
    result |= static_cast<std::uint32_t>(code & 0x80u) << 24;
    if constexpr (HasInfinity) {
      const std::uint32_t infinity = 0x7F800000u | (static_cast<std::uint32_t>(code & 0x80u) << 24);
      result = magnitude == MaxCode + 1u ? infinity : result;
      result = magnitude > MaxCode + 1u ? 0x7FFFFFFFu : result;
    } else {
      result = magnitude > MaxCode ? 0x7FFFFFFFu : result;
    }
    return bit_cast<float>(result);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t finish(std::uint32_t bits, std::uint32_t code) {
    const std::uint32_t with_sign = code | ((bits >> 24) & 0x80u);
    return static_cast<std::uint8_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7Fu : with_sign);
  }
};

using E4M3 = Float8<3, 7, 0x7Eu, false>;
using E5M2 = Float8<2, 15, 0x7Bu, true>;

KOKKOS_FORCEINLINE_FUNCTION std::uint8_t encode_e4m3(float value) {
  return E4M3::encode(value);
}
KOKKOS_FORCEINLINE_FUNCTION float decode_e4m3(std::uint8_t code) {
  return E4M3::decode(code);
}
KOKKOS_FORCEINLINE_FUNCTION std::uint8_t encode_e5m2(float value) {
  return E5M2::encode(value);
}
KOKKOS_FORCEINLINE_FUNCTION float decode_e5m2(std::uint8_t code) {
  return E5M2::decode(code);
}

}  // namespace minigift
