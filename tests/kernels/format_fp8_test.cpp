// The two FP8 codecs against the oracle built from the definition: all codes, all midpoints and their
// neighbours, both ends of the range, NaN payloads, denormal floats, and random bit patterns.

#include "kernels/format/fp8.hpp"
#include "kernels/reference/fp8.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace {

using namespace minigift;
using namespace minigift::test;

template <class Element>
const reference::Fp8Format& oracle();
template <>
const reference::Fp8Format& oracle<E4M3>() {
  return reference::e4m3;
}
template <>
const reference::Fp8Format& oracle<E5M2>() {
  return reference::e5m2;
}

template <class Element>
class Fp8 : public testing::Test {};
using Elements = testing::Types<E4M3, E5M2>;
TYPED_TEST_SUITE(Fp8, Elements);

template <class Element>
void expect_encodes_as_oracle(float value) {
  ASSERT_EQ(Element::encode(value), reference::fp8_encode(oracle<Element>(), value))
      << "value " << value << " bits " << std::hex << bits_of(value);
}

TYPED_TEST(Fp8, DecodesEveryCode) {
  for (int code = 0; code < 256; ++code) {
    const float decoded = TypeParam::decode(static_cast<std::uint8_t>(code));
    const double expected = reference::fp8_decode(oracle<TypeParam>(), code);
    if (std::isnan(expected)) {
      EXPECT_EQ(bits_of(decoded), 0x7FFFFFFFu) << "code " << code;  // CUDA's canonical NaN
    } else {
      EXPECT_EQ(bits_of(decoded), bits_of(static_cast<float>(expected))) << "code " << code;
    }
  }
}

TYPED_TEST(Fp8, EncodeInvertsDecode) {
  for (int code = 0; code < 256; ++code) {
    const float decoded = TypeParam::decode(static_cast<std::uint8_t>(code));
    if (!std::isfinite(decoded)) continue;
    EXPECT_EQ(TypeParam::encode(decoded), code);
  }
}

TYPED_TEST(Fp8, RoundsEveryMidpointToEvenAndItsNeighboursToNearest) {
  for (int code = 0; code < oracle<TypeParam>().largest_finite_code; ++code) {
    const double low = reference::fp8_decode(oracle<TypeParam>(), code);
    const double high = reference::fp8_decode(oracle<TypeParam>(), code + 1);
    const auto midpoint = static_cast<float>((low + high) / 2);
    ASSERT_EQ(double{midpoint}, (low + high) / 2);
    for (const float sign : {1.0f, -1.0f}) {
      const int sign_bit = sign < 0 ? 0x80 : 0;
      EXPECT_EQ(TypeParam::encode(sign * midpoint), sign_bit | (code % 2 == 0 ? code : code + 1));
      EXPECT_EQ(TypeParam::encode(sign * next_down(midpoint)), sign_bit | code);
      EXPECT_EQ(TypeParam::encode(sign * next_up(midpoint)), sign_bit | (code + 1));
      EXPECT_EQ(TypeParam::encode(sign * static_cast<float>(low)), sign_bit | code);
      EXPECT_EQ(TypeParam::encode(sign * static_cast<float>(high)), sign_bit | (code + 1));
    }
  }
}

TYPED_TEST(Fp8, EveryExponentAndItsNeighbours) {
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const std::uint32_t mantissa :
         {0u, 1u, 0x7FFFFFu, 0x400000u, 0x3FFFFFu, 0x400001u, 0x100000u, 0x600000u}) {
      for (const std::uint32_t sign : {0u, 0x80000000u}) {
        expect_encodes_as_oracle<TypeParam>(float_of(sign | (exponent << 23) | mantissa));
      }
    }
  }
}

TYPED_TEST(Fp8, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity();
  const int largest = oracle<TypeParam>().largest_finite_code;
  EXPECT_EQ(TypeParam::encode(infinity), largest);
  EXPECT_EQ(TypeParam::encode(-infinity), 0x80 | largest);
  EXPECT_EQ(TypeParam::encode(std::numeric_limits<float>::max()), largest);
  EXPECT_EQ(TypeParam::encode(-std::numeric_limits<float>::max()), 0x80 | largest);
  EXPECT_EQ(TypeParam::encode(0.0f), 0x00);
  EXPECT_EQ(TypeParam::encode(-0.0f), 0x80);
  for (const std::uint32_t payload : {1u, 0x400000u, 0x7FFFFFu, 0x200000u, 0x12345u}) {
    EXPECT_EQ(TypeParam::encode(float_of(0x7F800000u | payload)), 0x7F);
    EXPECT_EQ(TypeParam::encode(float_of(0xFF800000u | payload)), 0x7F);
  }
  for (const std::uint32_t denormal : {1u, 0x7FFFFFu, 0x400000u}) {
    EXPECT_EQ(TypeParam::encode(float_of(denormal)), 0x00);
    EXPECT_EQ(TypeParam::encode(float_of(0x80000000u | denormal)), 0x80);
  }
}

TEST(Fp8Thresholds, E4M3SaturatesWhereCudaWithoutSaturationGivesNaN) {
  for (const float value : {448.0f, 463.99997f, 464.0f, 464.00003f, 465.0f, 479.0f, 480.0f, 512.0f, 1e30f}) {
    EXPECT_EQ(encode_e4m3(value), 0x7E) << value;
    EXPECT_EQ(encode_e4m3(-value), 0xFE) << value;
  }
  EXPECT_EQ(encode_e4m3(432.0f), 0x7E);  // the tie between 416 (odd) and 448 (even)
  EXPECT_EQ(encode_e4m3(431.99997f), 0x7D);
  EXPECT_EQ(encode_e4m3(0x1p-10f), 0x00);
  EXPECT_EQ(encode_e4m3(next_up(0x1p-10f)), 0x01);
  EXPECT_EQ(encode_e4m3(0x1p-9f), 0x01);
  EXPECT_EQ(encode_e4m3(0x1p-6f), 0x08);
}

TEST(Fp8Thresholds, E5M2SaturatesWhereCudaWithoutSaturationGivesInfinity) {
  for (const float value : {57344.0f, 61439.996f, 61440.0f, 61440.004f, 65535.0f, 65536.0f, 1e30f}) {
    EXPECT_EQ(encode_e5m2(value), 0x7B) << value;
    EXPECT_EQ(encode_e5m2(-value), 0xFB) << value;
  }
  EXPECT_EQ(encode_e5m2(0x1p-17f), 0x00);
  EXPECT_EQ(encode_e5m2(next_up(0x1p-17f)), 0x01);
  EXPECT_EQ(encode_e5m2(0x1p-14f), 0x04);
}

TYPED_TEST(Fp8, RandomBitPatternsMatchBruteForce) {
  const PhiloxKey key = philox_key(11, 0, 0, 0);
  for (std::int64_t i = 0; i < (std::int64_t{1} << 22); ++i) {
    std::uint32_t bits = philox_bits(key, i);
    // Half of the patterns over all floats, half with the exponents the format knows.
    if (i % 2 == 0) bits = (bits & 0x807FFFFFu) | ((100u + (bits >> 8) % 48u) << 23);
    expect_encodes_as_oracle<TypeParam>(float_of(bits));
  }
}

TYPED_TEST(Fp8, RoundingFloorOfGaussians) {
  const std::vector<float> x = normal_values(std::int64_t{1} << 21, 1.0f, 7);
  // Scaled by powers of two: headroom 1 ... 4096 below the largest value that does not clip.
  const double expected = oracle<TypeParam>().mantissa_bits == 3 ? 0.0265 : 0.0527;
  const double tolerance = oracle<TypeParam>().mantissa_bits == 3 ? 0.0005 : 0.0007;
  double first = 0;
  for (const int headroom_bits : {0, 4, 8, 12}) {
    const float scale =
        std::ldexp(static_cast<float>(TypeParam::decode(TypeParam::encode(1e9f)) / 8), -headroom_bits);
    std::vector<float> decoded(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      decoded[i] = TypeParam::decode(TypeParam::encode(x[i] * scale)) / scale;
    }
    const double error = relative_l2(decoded, x);
    if (headroom_bits == 0) {
      first = error;
      EXPECT_NEAR(error, expected, tolerance);
    } else if (oracle<TypeParam>().mantissa_bits == 2) {
      EXPECT_NEAR(error, first, 1e-4 * first) << "headroom 2^" << headroom_bits;
    } else if (headroom_bits == 4) {
      EXPECT_NEAR(error, first, 1e-2 * first) << "headroom 2^" << headroom_bits;
    }
  }
}

TYPED_TEST(Fp8, SequentialSumOfOnesStagnates) {
  std::uint8_t sum = TypeParam::encode(0.0f);
  for (int i = 0; i < 100; ++i) {
    sum = TypeParam::encode(TypeParam::decode(sum) + 1.0f);
  }
  EXPECT_EQ(TypeParam::decode(sum), oracle<TypeParam>().mantissa_bits == 3 ? 16.0f : 8.0f);
}

#if defined(__SSE__)
TYPED_TEST(Fp8, FlushToZeroModeChangesNothing) {
  const unsigned int mode = _mm_getcsr();
  std::array<float, 256> decoded{}, decoded_flushing{};
  std::vector<std::uint8_t> encoded, encoded_flushing;
  std::vector<float> values;
  for (std::uint32_t exponent = 1; exponent < 255; ++exponent) {
    for (std::uint32_t mantissa = 0; mantissa < 8; ++mantissa) {
      values.push_back(float_of((exponent << 23) | (mantissa << 20) | (mantissa % 2 == 0 ? 0u : 0x80000u)));
    }
  }
  const auto run = [&](std::array<float, 256>& decodes, std::vector<std::uint8_t>& encodes) {
    for (std::size_t code = 0; code < 256; ++code) {
      const volatile auto input = static_cast<std::uint8_t>(code);  // not known to the compiler
      decodes[code] = TypeParam::decode(input);
    }
    for (const volatile float value : values) {
      encodes.push_back(TypeParam::encode(value));
    }
  };
  run(decoded, encoded);
  _mm_setcsr(mode | 0x8040u);  // flush results to zero, read denormals as zero
  run(decoded_flushing, encoded_flushing);
  _mm_setcsr(mode);
  for (std::size_t code = 0; code < 256; ++code) {
    EXPECT_EQ(bits_of(decoded[code]), bits_of(decoded_flushing[code]));
  }
  EXPECT_EQ(encoded, encoded_flushing);
}
#endif

}  // namespace
