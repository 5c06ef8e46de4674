// Stochastic rounding: the probability of rounding up is the discarded fraction, the mean error is zero in
// every binade including the subnormals, keys matter, and the random word depends on the wire index alone.

#include "kernels/format/codec.hpp"
#include "kernels/format/quantize.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

namespace {

using namespace minigift;
using namespace minigift::test;

template <class Codec>
class Stochastic : public testing::Test {};
using Codecs = testing::Types<CodecE4M3, CodecE5M2, CodecInt8, CodecBf16>;
TYPED_TEST_SUITE(Stochastic, Codecs);

template <class Codec>
double round_with(float value, std::uint32_t random) {
  return Codec::decode(Codec::encode_stochastic(value, random));
}

/// The probability of the neighbour that random = 2^32 - 1 gives. Rounding is monotone in the random word, so
/// a binary search finds it exactly.
template <class Codec>
double probability_of_upper(float value) {
  const double upper = round_with<Codec>(value, 0xFFFFFFFFu);
  std::uint64_t low = 0, high = std::uint64_t{1} << 32;  // first word that gives `upper` is in [low, high]
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (round_with<Codec>(value, static_cast<std::uint32_t>(middle)) == upper) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return std::ldexp(static_cast<double>((std::uint64_t{1} << 32) - low), -32);
}

TYPED_TEST(Stochastic, ProbabilityIsTheDiscardedFraction) {
  const PhiloxKey key = philox_key(21, 0, 0, 0);
  const float limit = float_of(TypeParam::max_finite_bits);
  // Finest resolution of the probability: 2^-28 below the smallest normal of FP8, 2^-23 for INT8 below one.
  const double resolution = TypeParam::max_finite_bits == CodecInt8::max_finite_bits ? 0x1p-23 : 0x1p-28;
  int rounded = 0;
  for (std::int64_t i = 0; i < 20000; ++i) {
    // All exponents from below the smallest subnormal to the largest value.
    const std::uint32_t word = philox_bits(key, 2 * i);
    const float unit = float_of(0x3F800000u | (word >> 9));
    const int span = TypeParam::scaled ? 48 : 240;
    const int exponent = static_cast<int>(philox_bits(key, 2 * i + 1) % static_cast<std::uint32_t>(span)) -
                         (TypeParam::scaled ? 30 : 120);
    const float value = std::ldexp(word % 2 == 0 ? unit : -unit, exponent);
    if (std::abs(value) > limit) continue;
    const double lower = round_with<TypeParam>(value, 0), upper = round_with<TypeParam>(value, 0xFFFFFFFFu);
    if (lower == upper) {
      // Exact, or so close to the lower neighbour that no word can show the difference; BF16 has no such
      // values.
      const double smallest_step = TypeParam::scaled ? TypeParam::decode(1) : 0.0;
      ASSERT_LE(std::abs(value - lower), resolution * smallest_step) << value;
      continue;
    }
    ASSERT_LE(std::abs(lower), std::abs(double{value}));
    ASSERT_GE(std::abs(upper), std::abs(double{value}));
    ASSERT_NEAR(probability_of_upper<TypeParam>(value), (value - lower) / (upper - lower), resolution)
        << value;
    ++rounded;
  }
  EXPECT_GT(rounded, 5000);
}

TYPED_TEST(Stochastic, RepresentableValuesStay) {
  for (std::uint32_t code = 0; code < (sizeof(typename TypeParam::Code) == 1 ? 256u : 65536u); ++code) {
    const float value = TypeParam::decode(static_cast<typename TypeParam::Code>(code));
    for (const std::uint32_t random : {0u, 0x80000000u, 0xFFFFFFFFu}) {
      const double result = round_with<TypeParam>(value, random);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(result));
      } else if (std::isfinite(value)) {
        EXPECT_EQ(result, value);
      }
    }
  }
}

TYPED_TEST(Stochastic, ClampsAndKeepsSpecialValues) {
  const float limit = float_of(TypeParam::max_finite_bits);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::uint32_t random : {0u, 0xFFFFFFFFu}) {
    EXPECT_EQ(round_with<TypeParam>(infinity, random), TypeParam::scaled ? limit : infinity);
    EXPECT_TRUE(std::isnan(round_with<TypeParam>(std::numeric_limits<float>::quiet_NaN(), random)));
    if (!TypeParam::scaled) continue;
    EXPECT_EQ(round_with<TypeParam>(1.05f * limit, random), limit);
    EXPECT_EQ(round_with<TypeParam>(-1e30f, random), -limit);
  }
}

/// Codes of `x` in one group of scale 1, decoded.
std::vector<float> rounded(Format format, const std::vector<float>& x, PhiloxKey key,
                           std::int64_t wire_offset = 0) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<Tile> list;
  append_tiles(list, 0, wire_offset, n, 0);
  const Tiles tiles = make_tiles(list, n, wire_offset + n, 1);
  const Vector<float> scale = to_device(std::vector<float>{1.0f});
  const Vector<std::uint8_t> codes("codes",
                                   static_cast<std::size_t>((wire_offset + n) * bytes_per_code(format)));
  const Vector<float> result("result", x.size());
  quantize(format, Rounding::stochastic, to_device(x), tiles, scale, codes, Vector<float>(), key, nullptr);
  dequantize(format, codes, tiles, scale, 1.0f, result);
  return to_host(result);
}

class StochasticFormat : public testing::TestWithParam<Format> {};

TEST_P(StochasticFormat, MeanErrorIsZeroInEveryBinade) {
  const Format format = GetParam();
  const int lowest = format == Format::e4m3   ? -14
                     : format == Format::e5m2 ? -21
                     : format == Format::int8 ? -6
                                              : -20;
  const int highest = format == Format::e4m3   ? 8
                      : format == Format::e5m2 ? 15
                      : format == Format::int8 ? 6
                                               : 20;
  const std::size_t n = std::size_t{1} << 18;
  for (int exponent = lowest; exponent <= highest; ++exponent) {
    const PhiloxKey values = philox_key(31, static_cast<std::uint64_t>(exponent + 100), 0, 0);
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) {
      const float unit = 1.0f + philox_uniform(values, static_cast<std::int64_t>(i));
      const float magnitude = std::min(std::ldexp(unit, exponent), static_cast<float>(max_finite(format)));
      x[i] = i % 2 == 0 ? magnitude : -magnitude;
    }
    const std::vector<float> y = rounded(format, x, philox_key(32, 1, 2, 3));
    // Errors of the magnitudes: bias towards or away from zero would show, not only towards one side.
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double error = std::abs(double{y[i]}) - std::abs(double{x[i]});
      sum += error;
      squares += error * error;
    }
    EXPECT_GT(squares, 0) << "binade " << exponent;
    EXPECT_LE(std::abs(sum), 4 * std::sqrt(squares)) << "binade " << exponent;
  }
}

TEST_P(StochasticFormat, TwoKeysDifferAndOneKeyRepeats) {
  const std::vector<float> x = normal_values(10000, 1.0f, 41);
  const std::vector<float> first = rounded(GetParam(), x, philox_key(1, 7, 0, 0));
  EXPECT_EQ(first, rounded(GetParam(), x, philox_key(1, 7, 0, 0)));
  EXPECT_NE(first, rounded(GetParam(), x, philox_key(1, 8, 0, 0)));
  EXPECT_NE(first, rounded(GetParam(), x, philox_key(1, 7, 0, 1)));
}

TEST_P(StochasticFormat, TheWordDependsOnTheWireIndexAlone) {
  const PhiloxKey key = philox_key(2, 9, 1, 0);
  const std::vector<float> x = normal_values(9001, 1.0f, 42);
  for (const std::int64_t offset : {0, 1, 17, 63, 64, 129}) {
    const std::vector<float> y = rounded(GetParam(), x, key, offset);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::uint32_t word = stochastic_word(key, offset + static_cast<std::int64_t>(i));
      float expected = 0;
      with_codec(GetParam(),
                 [&](auto codec) { expected = codec.decode(codec.encode_stochastic(x[i], word)); });
      ASSERT_EQ(y[i], expected) << "element " << i << " at offset " << offset;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, StochasticFormat,
                         testing::Values(Format::e4m3, Format::e5m2, Format::int8, Format::bf16),
                         [](const auto& test) { return name(test.param); });

TEST(StochasticWord, EveryWordOfEveryBlockIsUsedOnce) {
  const PhiloxKey key = philox_key(3, 0, 0, 0);
  std::vector<std::uint32_t> from_elements, from_blocks;
  for (std::int64_t i = 0; i < 256; ++i) {
    from_elements.push_back(stochastic_word(key, i));
    from_blocks.push_back(philox_bits(key, i));
  }
  std::sort(from_elements.begin(), from_elements.end());
  std::sort(from_blocks.begin(), from_blocks.end());
  EXPECT_EQ(from_elements, from_blocks);
}

}  // namespace
