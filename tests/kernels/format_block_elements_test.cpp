// E2M1 and E8M0, one value at a time, against the definition: all codes, all midpoints and their neighbours.

#include "kernels/format/e8m0.hpp"
#include "kernels/format/fp4.hpp"
#include "kernels/reference/block_format.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace minigift;
using namespace minigift::test;

TEST(E2M1, DecodesEveryCode) {
  for (int code = 0; code < 16; ++code) {
    const float decoded = E2M1::decode(static_cast<std::uint8_t>(code));
    EXPECT_EQ(bits_of(decoded), bits_of(static_cast<float>(reference::e2m1_decode(code)))) << code;
    EXPECT_EQ(E2M1::encode(decoded), code);
    EXPECT_EQ(bits_of(E2M1::decode(static_cast<std::uint8_t>(code | 0xA0))), bits_of(decoded));
  }
}

TEST(E2M1, RoundsEveryMidpointToEvenAndItsNeighboursToNearest) {
  for (int code = 0; code < 7; ++code) {
    const double low = reference::e2m1_decode(code), high = reference::e2m1_decode(code + 1);
    const auto midpoint = static_cast<float>((low + high) / 2);
    for (const float sign : {1.0f, -1.0f}) {
      const int sign_bit = sign < 0 ? 8 : 0;
      EXPECT_EQ(E2M1::encode(sign * midpoint), sign_bit | (code % 2 == 0 ? code : code + 1));
      EXPECT_EQ(E2M1::encode(sign * next_down(midpoint)), sign_bit | code);
      EXPECT_EQ(E2M1::encode(sign * next_up(midpoint)), sign_bit | (code + 1));
    }
  }
}

TEST(E2M1, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {6.0f, 6.5f, 7.0f, 1e30f, std::numeric_limits<float>::max(), infinity}) {
    EXPECT_EQ(E2M1::encode(value), 0x7);
    EXPECT_EQ(E2M1::encode(-value), 0xF);
  }
  EXPECT_EQ(E2M1::encode(0.0f), 0x0);
  EXPECT_EQ(E2M1::encode(-0.0f), 0x8);
  for (const std::uint32_t bits : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFFFFFFFFu})
    EXPECT_EQ(E2M1::encode(float_of(bits)), 0x7);
}

TEST(E2M1, RandomBitPatternsMatchBruteForce) {
  const PhiloxKey key = philox_key(12, 0, 0, 0);
  for (std::int64_t i = 0; i < (std::int64_t{1} << 20); ++i) {
    std::uint32_t bits = philox_bits(key, i);
    if (i % 2 == 0) bits = (bits & 0x807FFFFFu) | ((122u + (bits >> 8) % 10u) << 23);  // 2^-5 ... 2^4
    ASSERT_EQ(E2M1::encode(float_of(bits)), reference::e2m1_encode(double{float_of(bits)}))
        << std::hex << bits;
  }
}

TEST(E8M0, DecodesEveryCode) {
  for (int code = 0; code < 255; ++code)
    EXPECT_EQ(double{decode_e8m0(static_cast<std::uint8_t>(code))}, std::ldexp(1.0, code - 127)) << code;
  EXPECT_TRUE(std::isnan(decode_e8m0(255)));
}

/// Around every power of two, and around the largest element times every power of two, where the rules turn.
TEST(E8M0, EncodesByBothRules) {
  for (const MxScaleRule rule : {MxScaleRule::rounded_up, MxScaleRule::truncated})
    for (const float largest : {6.0f, 448.0f, 57344.0f})
      for (int exponent = -149; exponent <= 127; ++exponent)
        for (const float mantissa : {1.0f, largest / std::ldexp(1.0f, std::ilogb(largest))}) {
          const float value = std::ldexp(mantissa, exponent);
          for (const float amax : {value, next_up(value), next_down(value)}) {
            if (!std::isfinite(amax)) continue;
            ASSERT_EQ(encode_e8m0(bits_of(amax), bits_of(largest), rule),
                      reference::e8m0_encode(double{amax}, double{largest}, rule))
                << "amax " << amax << " largest " << largest;
          }
        }
}

TEST(E8M0, WhatIsNotFiniteBecomesNaN) {
  for (const std::uint32_t bits : {0x7F800000u, 0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu})
    for (const MxScaleRule rule : {MxScaleRule::rounded_up, MxScaleRule::truncated})
      EXPECT_EQ(encode_e8m0(bits, bits_of(448.0f), rule), 255);
  EXPECT_EQ(encode_e8m0(0, bits_of(6.0f), MxScaleRule::rounded_up), 0);
}

}  // namespace
