// BF16 and INT8: every code, all midpoints, special values; the names and facts of the formats.

#include "kernels/error.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/format/format.hpp"
#include "kernels/format/int8.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/reference/quantize.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

namespace {

using namespace minigift;
using namespace minigift::test;

TEST(Bfloat16, EveryCodeSurvivesARoundTrip) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const float value = to_float(bfloat16{static_cast<std::uint16_t>(code)});
    EXPECT_EQ(bits_of(value), code << 16);
    EXPECT_EQ(to_bfloat16(value).bits, std::isnan(value) ? 0x7FFFu : code);
  }
}

TEST(Bfloat16, EveryMidpointAndItsNeighbours) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      const float value = float_of((code << 16) | low);
      ASSERT_EQ(to_bfloat16(value).bits, reference::bfloat16_encode(value)) << std::hex << bits_of(value);
    }
  }
}

TEST(Bfloat16, OverflowIsInfinityAsInCuda) {
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_EQ(to_bfloat16(-std::numeric_limits<float>::max()).bits, 0xFF80);
  EXPECT_EQ(to_bfloat16(0x1.FEp127f).bits, 0x7F7F);
  EXPECT_EQ(to_bfloat16(next_down(0x1.FFp127f)).bits, 0x7F7F);
  EXPECT_EQ(to_bfloat16(0x1.FFp127f).bits, 0x7F80);
}

TEST(Bfloat16, RoundingFloorOfGaussians) {
  const std::vector<float> x = normal_values(std::int64_t{1} << 20, 1.0f, 8);
  std::vector<float> decoded;
  for (const float value : x) {
    decoded.push_back(to_float(to_bfloat16(value)));
  }
  // Four more mantissa bits than E4M3: its 0.0265 divided by 16.
  EXPECT_NEAR(relative_l2(decoded, x), 0.0265 / 16, 0.00003);
}

TEST(Bfloat16, ArraysOfAwkwardLengths) {
  for (const std::int64_t count : {0, 1, 31, 4095, 4096, 4097, 10001}) {
    std::vector<float> x = normal_values(count, 3.0f, 5);
    if (count > 3) x[3] = std::numeric_limits<float>::quiet_NaN();
    const Vector<bfloat16> y("y", x.size());
    const Vector<float> back("back", x.size());
    convert_to_bfloat16(to_device(x), y);
    convert_to_float(y, back);
    const std::vector<float> result = to_host(back);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(bits_of(result[i]), std::uint32_t{reference::bfloat16_encode(x[i])} << 16);
    }
  }
}

TEST(Int8, EveryCodeEveryMidpoint) {
  for (int value = -127; value <= 127; ++value) {
    const auto code = static_cast<std::uint8_t>(value);
    EXPECT_EQ(decode_int8(code), static_cast<float>(value));
    EXPECT_EQ(encode_int8(static_cast<float>(value)), code);
    for (const float x : {static_cast<float>(value) + 0.5f, static_cast<float>(value) - 0.5f}) {
      for (const float near : {x, next_up(x), next_down(x)}) {
        EXPECT_EQ(encode_int8(near), reference::encode(Format::int8, near)) << near;
      }
    }
  }
  EXPECT_TRUE(std::isnan(decode_int8(0x80)));
}

TEST(Int8, ClampsAndKeepsNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {127.0f, 127.4f, 127.5f, 128.0f, 1e30f, infinity}) {
    EXPECT_EQ(encode_int8(value), 0x7F) << value;
    EXPECT_EQ(encode_int8(-value), 0x81) << value;
  }
  EXPECT_EQ(encode_int8(std::numeric_limits<float>::quiet_NaN()), 0x80);
  EXPECT_EQ(encode_int8(-std::numeric_limits<float>::quiet_NaN()), 0x80);
  EXPECT_EQ(encode_int8(-0.0f), 0x00);
  EXPECT_EQ(encode_int8(0x1p-149f), 0x00);
}

TEST(Int8, RandomBitPatterns) {
  const PhiloxKey key = philox_key(12, 0, 0, 0);
  for (std::int64_t i = 0; i < (std::int64_t{1} << 20); ++i) {
    std::uint32_t bits = philox_bits(key, i);
    if (i % 2 == 0) bits = (bits & 0x807FFFFFu) | ((120u + (bits >> 8) % 16u) << 23);
    const float value = float_of(bits);
    ASSERT_EQ(encode_int8(value), reference::encode(Format::int8, value)) << value;
  }
}

TEST(FormatFacts, NamesAndSizes) {
  const std::vector<Format> all{Format::fp32, Format::bf16, Format::e4m3, Format::e5m2, Format::int8};
  for (const Format format : all) {
    EXPECT_EQ(format_from_name(name(format)), format);
    // The largest finite value and the smallest normal are fixed points of the codec; the next step up is
    // not.
    const auto largest = static_cast<float>(max_finite(format));
    EXPECT_EQ(reference::decode(format, reference::encode(format, largest)), max_finite(format));
  }
  EXPECT_EQ(bytes_per_code(Format::fp32), 4);
  EXPECT_EQ(bytes_per_code(Format::bf16), 2);
  EXPECT_EQ(bytes_per_code(Format::e4m3), 1);
  EXPECT_TRUE(is_fp8(Format::e5m2));
  EXPECT_FALSE(is_fp8(Format::int8));
  EXPECT_TRUE(has_scale(Format::int8));
  EXPECT_FALSE(has_scale(Format::bf16));
  EXPECT_THROW(format_from_name("e3m4"), UsageError);
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::stochastic}) {
    EXPECT_EQ(rounding_from_name(name(rounding)), rounding);
  }
  EXPECT_THROW(rounding_from_name("up"), UsageError);
}

}  // namespace
