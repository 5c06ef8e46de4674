#pragma once
// Serial oracle of the 8-bit floats, built from the definition of the formats (OCP OFP8) in double arithmetic
// and by search, sharing nothing with kernels/format: decode is sign * significand * 2^exponent, encode looks
// at every code.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace minigift::reference {

struct Fp8Format {
  int exponent_bits, mantissa_bits, bias;
  int largest_finite_code;  // magnitude code; what lies above is infinity (if any) and NaN
  int infinity_code;        // -1: none
};

inline constexpr Fp8Format e4m3{4, 3, 7, 0x7E, -1};
inline constexpr Fp8Format e5m2{5, 2, 15, 0x7B, 0x7C};

inline double fp8_decode(const Fp8Format& format, int code) {
  const double sign = (code & 0x80) != 0 ? -1.0 : 1.0;
  const int magnitude = code & 0x7F;
  if (magnitude == format.infinity_code) return sign * std::numeric_limits<double>::infinity();
  if (magnitude > format.largest_finite_code) return std::numeric_limits<double>::quiet_NaN();
  const int exponent_field = magnitude >> format.mantissa_bits;
  const double fraction = std::ldexp(magnitude & ((1 << format.mantissa_bits) - 1), -format.mantissa_bits);
  if (exponent_field == 0) return sign * std::ldexp(fraction, 1 - format.bias);
  return sign * std::ldexp(1.0 + fraction, exponent_field - format.bias);
}

/// The values of the codes 0 ... 127 of a format, made once.
inline const std::array<double, 128>& fp8_magnitudes(const Fp8Format& format) {
  const auto make = [](const Fp8Format& of) {
    std::array<double, 128> values{};
    for (int code = 0; code < 128; ++code) {
      values[static_cast<std::size_t>(code)] = fp8_decode(of, code);
    }
    return values;
  };
  static const std::array<double, 128> of_e4m3 = make(e4m3), of_e5m2 = make(e5m2);
  return format.mantissa_bits == e4m3.mantissa_bits ? of_e4m3 : of_e5m2;
}

/// The nearest finite code, ties to the even one, what lies beyond the largest to the largest; NaN to 0x7F
/// without its sign.
inline std::uint8_t fp8_encode(const Fp8Format& format, double value) {
  if (std::isnan(value)) return 0x7F;
  const int sign = std::signbit(value) ? 0x80 : 0;
  const std::array<double, 128>& values = fp8_magnitudes(format);
  const double magnitude = std::abs(value);
  int best = format.largest_finite_code;
  if (magnitude >= values[static_cast<std::size_t>(best)]) return static_cast<std::uint8_t>(sign | best);
  double best_distance = std::numeric_limits<double>::infinity();
  for (int code = 0; code <= format.largest_finite_code; ++code) {
    const double distance = std::abs(values[static_cast<std::size_t>(code)] - magnitude);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  return static_cast<std::uint8_t>(sign | best);
}

}  // namespace minigift::reference
