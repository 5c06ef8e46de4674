#pragma once
// One type per block format with the same members, so that the kernels are written once:
//
//   elements      of a block
//   bits          of a code
//   has_tensor_scale
//   Context       what all blocks of a tensor have in common
//   scale_code    of a block from the bits of its largest magnitude
//   multiplier    of the codes, from the code of the scale
//   encode, decode   one element

#include "kernels/format/block_format.hpp"
#include "kernels/format/e8m0.hpp"
#include "kernels/format/fp4.hpp"
#include "kernels/format/fp8.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

/// The decode scale of an NVFP4 tensor, so that a block scale of 448 and an element of 6 reach amax. Kept at
/// 2^-117 and above, so that its product with the smallest block scale, 2^-9, has a normal inverse.
KOKKOS_FORCEINLINE_FUNCTION float nvfp4_tensor_scale(float amax) {
  const float quotient = amax / 2688.0f;
  const float bounded = quotient < 0x1p-117f ? 0x1p-117f : quotient;
  return amax == 0.0f ? 1.0f : bounded;
}

struct Nvfp4 {
  static constexpr int elements = 16, bits = 4;
  static constexpr bool has_tensor_scale = true;
  struct Context {
    float tensor_scale, block_factor;
  };
  KOKKOS_FORCEINLINE_FUNCTION static Context context(float tensor_scale, MxScaleRule) {
    return {tensor_scale, 1.0f / (6.0f * tensor_scale)};
  }
  KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t scale_code(std::uint32_t amax, const Context& of) {
    return E4M3::encode(bit_cast<float>(amax) * of.block_factor);
  }
  KOKKOS_FORCEINLINE_FUNCTION static float multiplier(std::uint8_t scale, const Context& of) {
    return E4M3::decode(scale) * of.tensor_scale;
  }
  KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t encode(float value) { return E2M1::encode(value); }
  KOKKOS_FORCEINLINE_FUNCTION static float decode(std::uint8_t code) { return E2M1::decode(code); }
};

template <class Element, int code_bits>
struct Mx {
  static constexpr int elements = 32, bits = code_bits;
  static constexpr bool has_tensor_scale = false;
  struct Context {
    MxScaleRule rule;
  };
  KOKKOS_FORCEINLINE_FUNCTION static Context context(float, MxScaleRule rule) { return {rule}; }
  KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t scale_code(std::uint32_t amax, const Context& of) {
    constexpr std::uint32_t max_finite = Element::max_finite_bits;
    return encode_e8m0(amax, max_finite, of.rule);
  }
  KOKKOS_FORCEINLINE_FUNCTION static float multiplier(std::uint8_t scale, const Context&) {
    return decode_e8m0(scale);
  }
  KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t encode(float value) { return Element::encode(value); }
  KOKKOS_FORCEINLINE_FUNCTION static float decode(std::uint8_t code) { return Element::decode(code); }
};
using Mxfp8 = Mx<E4M3, 8>;
using Mxfp4 = Mx<E2M1, 4>;

/// How a host cuts a row: blocks whose scales are computed together on vector registers, and elements that
/// are encoded together where the row has them, one or two whole blocks: as many as a vector register has
/// bytes, so that the loop over codes fills it.
inline constexpr int span_blocks = 32;
inline constexpr int group_elements = 32;

/// 1 / multiplier for the encoder; 0 for the scale 0 of an NVFP4 block too small for it, whose elements
/// become zeros.
KOKKOS_FORCEINLINE_FUNCTION float inverse_multiplier(float multiplier) {
  // A mask, not a choice, which a compiler would turn into a branch around the division.
  const std::uint32_t keep = bit_cast<std::uint32_t>(multiplier) != 0 ? 0xFFFFFFFFu : 0u;
  return bit_cast<float>(bit_cast<std::uint32_t>(1.0f / multiplier) & keep);
}

/// Calls `body(Rules{})` with the rules of a format.
template <class Body>
void with_block_rules(BlockFormat format, const Body& body) {
  switch (format) {
    case BlockFormat::nvfp4:
      return body(Nvfp4{});
    case BlockFormat::mxfp8:
      return body(Mxfp8{});
    case BlockFormat::mxfp4:
      return body(Mxfp4{});
  }
}

}  // namespace minigift
