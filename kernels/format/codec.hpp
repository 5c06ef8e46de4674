#pragma once
// One type per format with the same members, so that a kernel is written once and compiled for each format.
//
//   Code              unsigned integer of the code's width
//   scaled            whether values are divided by a scale first
//   max_finite_bits   bit pattern of the largest finite value, as a float
//   magnitude(code)   the code without its sign, 0 for zero
//   min_normal_code   magnitudes 1 ... min_normal_code - 1 are subnormal
//   encode, encode_stochastic, decode

#include "kernels/error.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/format/format.hpp"
#include "kernels/format/fp8.hpp"
#include "kernels/format/int8.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

struct CodecFp32 {
  using Code = std::uint32_t;
  static constexpr bool scaled = false;
  static constexpr std::uint32_t max_finite_bits = 0x7F7FFFFFu;
  static constexpr std::uint32_t min_normal_code = 0x00800000u;
  KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t magnitude(Code code) { return code & 0x7FFFFFFFu; }
  KOKKOS_FORCEINLINE_FUNCTION static Code encode(float value) { return bit_cast<std::uint32_t>(value); }
  KOKKOS_FORCEINLINE_FUNCTION static Code encode_stochastic(float value, std::uint32_t) {
    return encode(value);
  }
  KOKKOS_FORCEINLINE_FUNCTION static float decode(Code code) { return bit_cast<float>(code); }
};

struct CodecBf16 {
  using Code = std::uint16_t;
  static constexpr bool scaled = false;
  static constexpr std::uint32_t max_finite_bits = 0x7F7F0000u;
  static constexpr std::uint32_t min_normal_code = 0x0080u;
  KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t magnitude(Code code) { return code & 0x7FFFu; }
  KOKKOS_FORCEINLINE_FUNCTION static Code encode(float value) { return to_bfloat16(value).bits; }
  KOKKOS_FORCEINLINE_FUNCTION static Code encode_stochastic(float value, std::uint32_t random) {
    return to_bfloat16_stochastic(value, random).bits;
  }
  KOKKOS_FORCEINLINE_FUNCTION static float decode(Code code) { return to_float(bfloat16{code}); }
};

template <class Element>
struct CodecFp8 {
  using Code = std::uint8_t;
  static constexpr bool scaled = true;
  static constexpr std::uint32_t max_finite_bits = Element::max_finite_bits;
  static constexpr std::uint32_t min_normal_code = Element::min_normal_code;
  KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t magnitude(Code code) { return code & 0x7Fu; }
  KOKKOS_FORCEINLINE_FUNCTION static Code encode(float value) { return Element::encode(value); }
  KOKKOS_FORCEINLINE_FUNCTION static Code encode_stochastic(float value, std::uint32_t random) {
    return Element::encode_stochastic(value, random);
  }
  KOKKOS_FORCEINLINE_FUNCTION static float decode(Code code) { return Element::decode(code); }
};
using CodecE4M3 = CodecFp8<E4M3>;
using CodecE5M2 = CodecFp8<E5M2>;

struct CodecInt8 {
  using Code = std::uint8_t;
  static constexpr bool scaled = true;
  static constexpr std::uint32_t max_finite_bits = 0x42FE0000u;  // 127
  static constexpr std::uint32_t min_normal_code = 1;
  /// Only told apart from zero, so the sign may stay.
  KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t magnitude(Code code) { return code; }
  KOKKOS_FORCEINLINE_FUNCTION static Code encode(float value) { return encode_int8(value); }
  KOKKOS_FORCEINLINE_FUNCTION static Code encode_stochastic(float value, std::uint32_t random) {
    return encode_int8_stochastic(value, random);
  }
  KOKKOS_FORCEINLINE_FUNCTION static float decode(Code code) { return decode_int8(code); }
};

/// Calls `body(Codec{})` with the codec of a format.
template <class Body>
void with_codec(Format format, const Body& body) {
  switch (format) {
    case Format::fp32:
      return body(CodecFp32{});
    case Format::bf16:
      return body(CodecBf16{});
    case Format::e4m3:
      return body(CodecE4M3{});
    case Format::e5m2:
      return body(CodecE5M2{});
    case Format::int8:
      return body(CodecInt8{});
  }
  throw RuntimeError("unknown number format");
}

/// A buffer of bytes as codes. Throws RuntimeError if its address or length does not fit the width of a code.
template <class Code, class Byte>
auto as_codes(const Vector<Byte>& bytes) {
  using Element = std::conditional_t<std::is_const_v<Byte>, const Code, Code>;
  constexpr auto width = static_cast<std::int64_t>(sizeof(Code));
  require(size(bytes) % width == 0, "a code buffer of {} bytes does not hold whole codes of {} bytes",
          size(bytes), width);
  require(reinterpret_cast<std::uintptr_t>(bytes.data()) % sizeof(Code) == 0,
          "a code buffer is not aligned to its codes of {} bytes", width);
  return Vector<Element>(reinterpret_cast<Element*>(bytes.data()), bytes.size() / sizeof(Code));
}

}  // namespace minigift
