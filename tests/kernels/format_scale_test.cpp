// The scale rules: amax * headroom / scale <= max_finite, with the smallest such scale, at every exponent
// boundary and one unit in the last place around it, checked in exact arithmetic.

#include "kernels/error.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/format/scale.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

namespace {

using namespace minigift;
using namespace minigift::test;

/// Positive floats at and around all exponents and all multiples by 1.75 (the mantissa of both FP8 limits),
/// and around 127 times them.
std::vector<float> boundaries() {
  std::vector<float> values;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    for (const float factor : {1.0f, 1.75f, 1.984375f}) {
      const float value = std::ldexp(factor, exponent);
      for (const float near : {next_down(value), value, next_up(value)}) {
        if (near > 0 && std::isfinite(near)) values.push_back(near);
      }
    }
  }
  values.push_back(std::numeric_limits<float>::max());
  return values;
}

const std::vector<float> headrooms{1.0f, 2.0f, 3.0f, 4.0f, 7.0f, 64.0f, 100.0f, 4096.0f, 1.4142135f};

TEST(PowerOfTwoScale, SmallestThatClipsNothing) {
  for (const float limit : {448.0f, 57344.0f}) {
    for (const float headroom : headrooms) {
      for (const float amax : boundaries()) {
        const float scale = power_of_two_scale(amax, headroom, limit);
        int exponent = 0;
        ASSERT_EQ(std::frexp(scale, &exponent), 0.5f) << "not a power of two";
        ASSERT_GE(scale, min_scale);
        ASSERT_LE(scale, max_scale);
        // Products of 24-bit numbers, and of a power of two with three bits, are exact in double.
        const double target = double{amax} * double{headroom};
        if (scale < max_scale) {
          ASSERT_LE(target, double{scale} * double{limit}) << amax << " x " << headroom;
        }
        if (scale > min_scale) {
          ASSERT_GT(target, double{scale} / 2 * double{limit}) << amax << " x " << headroom;
        }
        ASSERT_TRUE(std::isnormal(1.0f / scale));
      }
    }
  }
}

TEST(PowerOfTwoScale, ClampRangeIsAsDocumented) {
  const float limit = 448.0f;
  EXPECT_EQ(power_of_two_scale(448.0f * 0x1p-126f, 1.0f, limit), min_scale);
  EXPECT_EQ(power_of_two_scale(next_up(448.0f * 0x1p-126f), 1.0f, limit), 2 * min_scale);
  EXPECT_EQ(power_of_two_scale(0x1p-149f, 1.0f, limit), min_scale);
  // Without headroom the largest float does not reach the upper clamp.
  EXPECT_EQ(power_of_two_scale(std::numeric_limits<float>::max(), 1.0f, limit), 0x1p120f);
  EXPECT_EQ(power_of_two_scale(std::numeric_limits<float>::max(), 4096.0f, limit), max_scale);
}

TEST(SmallestScale, SmallestFloatThatClipsNothing) {
  for (const float headroom : headrooms) {
    for (const float amax : boundaries()) {
      const float scale = smallest_scale(amax, headroom, 127.0f);
      ASSERT_GE(scale, min_scale);
      ASSERT_LE(scale, max_scale);
      const double target = double{amax} * double{headroom};
      if (scale < max_scale) {
        ASSERT_LE(target, double{scale} * 127.0) << amax << " x " << headroom;
      }
      if (scale > min_scale) {
        ASSERT_GT(target, double{next_down(scale)} * 127.0) << amax << " x " << headroom;
      }
      // The reciprocal that the kernel multiplies by may be rounded up; the product still rounds to 127.
      ASSERT_LT(amax * (1.0f / scale), 127.5f);
    }
  }
}

TEST(ScalesFromAmax, SpecialValuesAndArguments) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Vector<float> amax = to_device(std::vector<float>{
      0.0f, 1.0f, infinity, std::numeric_limits<float>::quiet_NaN(), 448.0f, next_up(448.0f), 127.0f});
  const Vector<float> scale("scale", amax.size());
  const auto scales = [&](Format format, float headroom) {
    scales_from_amax(format, headroom, amax, scale);
    return to_host(scale);
  };
  const std::vector<float> e4m3 = scales(Format::e4m3, 1.0f);
  EXPECT_EQ(e4m3, (std::vector<float>{1.0f, 0x1p-8f, infinity, infinity, 1.0f, 2.0f, 0.5f}));
  EXPECT_EQ(scales(Format::e4m3, 4.0f)[4], 4.0f);
  EXPECT_EQ(scales(Format::e5m2, 1.0f)[1], 0x1p-15f);
  EXPECT_EQ(scales(Format::int8, 1.0f)[6], 1.0f);
  EXPECT_EQ(scales(Format::int8, 1.0f)[0], 1.0f);
  EXPECT_EQ(scales(Format::bf16, 1.0f),
            (std::vector<float>{1.0f, 1.0f, infinity, infinity, 1.0f, 1.0f, 1.0f}));
  for (const float headroom : {0.0f, -1.0f, infinity, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THROW(scales_from_amax(Format::e4m3, headroom, amax, scale), RuntimeError);
  }
  EXPECT_THROW(scales_from_amax(Format::e4m3, 1.0f, amax, Vector<float>("scale", 1)), RuntimeError);
}

TEST(ScalesFromAmax, HeadroomKeepsSumsOfCodesFinite) {
  // N ranks with the same largest value: N codes of it add up without clipping.
  for (int ranks = 2; ranks <= 4096; ranks *= 2) {
    for (const float amax : {1.0f, 1.7f, 3.3e-5f, 900.0f}) {
      const double e4m3 =
          double{amax} * ranks / double{power_of_two_scale(amax, static_cast<float>(ranks), 448.0f)};
      EXPECT_LE(e4m3, 448.0);
      EXPECT_GT(e4m3, 224.0);
    }
  }
}

}  // namespace
