#pragma once
// Elementary functions that compile for host and device with every Kokkos we meet, and that keep inner loops
// vectorised.
//
// Kokkos holds its mathematical functions in Kokkos::Experimental before 3.7 and in Kokkos afterwards. The
// library's float exponential is a call, which stops the vectoriser, so the one here is a polynomial without
// branches.

#include "kernels/bit_cast.hpp"

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>

namespace minigift::math {

#if KOKKOS_VERSION >= 30700
namespace library = Kokkos;
#else
namespace library = Kokkos::Experimental;
#endif

/// e^x, at most 2 units in the last place from exact where the result is a normal number; 0 below log(2^-126)
/// = -87.336..., +infinity from the first float above log(FLT_MAX) = 88.722..., NaN for NaN.
///
/// x = n log 2 + r with |r| <= log(2)/2, so e^x = 2^n e^r. Adding 1.5*2^23 rounds x/log 2 to the integer n in
/// the low bits of the sum; log 2 is split in two so that n times its leading part is exact; e^r = 1 + r +
/// r^2 (c0 + ... + c4 r^4) interpolated at Chebyshev nodes (error below 2^-26); 2^n is added to the exponent
/// bits.
KOKKOS_FORCEINLINE_FUNCTION float exp(float x) {
  constexpr float shifter = 12582912.0f;  // 1.5 * 2^23
  const float shifted = x * 1.44269504f + shifter;
  const float n = shifted - shifter;
  float r = x - n * 0.693145751953125f;
  r = r - n * 1.42860682e-6f;
  float p = 0.00139261836f;
  p = p * r + 0.00836317905f;
  p = p * r + 0.0416665546f;
  p = p * r + 0.166665770f;
  p = p * r + 0.5f;
  p = p * (r * r) + r;
  p = p + 1.0f;
  const float scaled = bit_cast<float>(bit_cast<std::uint32_t>(p) + (bit_cast<std::uint32_t>(shifted) << 23));
  const float below = x < -87.3365402f ? 0.0f : scaled;
  const float above = x > 88.7228317f ? bit_cast<float>(std::uint32_t{0x7f800000u}) : below;
  return x != x ? x : above;
}
KOKKOS_FORCEINLINE_FUNCTION double exp(double x) {
  return library::exp(x);
}

KOKKOS_FORCEINLINE_FUNCTION float log(float x) {
  return library::log(x);
}
KOKKOS_FORCEINLINE_FUNCTION double log(double x) {
  return library::log(x);
}
KOKKOS_FORCEINLINE_FUNCTION float sqrt(float x) {
  return library::sqrt(x);
}
KOKKOS_FORCEINLINE_FUNCTION double sqrt(double x) {
  return library::sqrt(x);
}
KOKKOS_FORCEINLINE_FUNCTION float rsqrt(float x) {
  return 1.0f / library::sqrt(x);
}
KOKKOS_FORCEINLINE_FUNCTION double rsqrt(double x) {
  return 1.0 / library::sqrt(x);
}
KOKKOS_FORCEINLINE_FUNCTION float cos(float x) {
  return library::cos(x);
}
KOKKOS_FORCEINLINE_FUNCTION double cos(double x) {
  return library::cos(x);
}
KOKKOS_FORCEINLINE_FUNCTION float sin(float x) {
  return library::sin(x);
}
KOKKOS_FORCEINLINE_FUNCTION double sin(double x) {
  return library::sin(x);
}
KOKKOS_FORCEINLINE_FUNCTION float pow(float x, float y) {
  return library::pow(x, y);
}
KOKKOS_FORCEINLINE_FUNCTION double pow(double x, double y) {
  return library::pow(x, y);
}
KOKKOS_FORCEINLINE_FUNCTION float abs(float x) {
  return library::fabs(x);
}
KOKKOS_FORCEINLINE_FUNCTION double abs(double x) {
  return library::fabs(x);
}

/// x*y + z with one rounding.
KOKKOS_FORCEINLINE_FUNCTION float fma(float x, float y, float z) {
  return ::fmaf(x, y, z);
}
KOKKOS_FORCEINLINE_FUNCTION double fma(double x, double y, double z) {
  return ::fma(x, y, z);
}

/// The larger and the smaller of two; the second where either is NaN.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION S max(S x, S y) {
  return x > y ? x : y;
}
template <class S>
KOKKOS_FORCEINLINE_FUNCTION S min(S x, S y) {
  return x < y ? x : y;
}

/// Whether the exponent bits are not all ones. Works on bits, so no compiler option can assume it away.
KOKKOS_FORCEINLINE_FUNCTION bool isfinite(float x) {
  return (bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u;
}
KOKKOS_FORCEINLINE_FUNCTION bool isfinite(double x) {
  constexpr std::uint64_t exponent = 0x7ff0000000000000u;
  return (bit_cast<std::uint64_t>(x) & exponent) != exponent;
}

}  // namespace minigift::math
