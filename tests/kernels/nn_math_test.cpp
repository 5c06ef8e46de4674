// The float exponential against the double one, and its special values.

#include "kernels/math.hpp"
#include "tests/kernels/nn_support.hpp"

namespace minigift {
namespace {

/// Distance in units in the last place of the exact result.
double ulp_error(float x) {
  const double exact = std::exp(static_cast<double>(x));
  const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::abs(static_cast<double>(math::exp(x)) - exact) / ulp;
}

TEST(Exp, TwoUlpOverTheNormalRange) {
  double worst = 0;
  for (std::uint32_t bits = 0; bits < 0x42b17200u; bits += 397) {
    const float x = bit_cast<float>(bits);
    worst = std::max(worst, ulp_error(x));
    if (x < 87.33f) worst = std::max(worst, ulp_error(-x));
  }
  EXPECT_LE(worst, 2.0);
  EXPECT_GT(worst, 0.4);  // the loop did look at something
}

TEST(Exp, EdgesOfTheRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::exp(-0.0f), 1.0f);
  EXPECT_EQ(math::exp(-88.0f), 0.0f);
  EXPECT_EQ(math::exp(-1e30f), 0.0f);
  EXPECT_EQ(math::exp(-infinity), 0.0f);
  EXPECT_EQ(math::exp(infinity), infinity);
  EXPECT_EQ(math::exp(1e30f), infinity);
  const float last = 88.7228317f;  // the largest float below log(FLT_MAX)
  EXPECT_TRUE(math::isfinite(math::exp(last)));
  EXPECT_LE(ulp_error(last), 2.0);
  EXPECT_EQ(math::exp(std::nextafter(last, infinity)), infinity);
  const float first = -87.3365402f;
  EXPECT_NEAR(math::exp(first) / std::numeric_limits<float>::min(), 1.0f, 1e-5f);
}

TEST(Exp, EveryNanStaysNan) {
  for (const std::uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xffffffffu, 0x7fc00001u, 0x7fc001ffu})
    EXPECT_TRUE(std::isnan(math::exp(bit_cast<float>(bits)))) << bits;
}

TEST(Finite, JudgesByBits) {
  EXPECT_TRUE(math::isfinite(std::numeric_limits<float>::max()));
  EXPECT_TRUE(math::isfinite(std::numeric_limits<double>::denorm_min()));
  EXPECT_FALSE(math::isfinite(-std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(math::isfinite(std::numeric_limits<double>::quiet_NaN()));
}

TEST(Library, FunctionsAreTheLibrarys) {
  EXPECT_EQ(math::sqrt(2.0), std::sqrt(2.0));
  EXPECT_EQ(math::rsqrt(4.0f), 0.5f);
  EXPECT_EQ(math::log(3.0f), std::log(3.0f));
  EXPECT_EQ(math::pow(2.0, 10.0), 1024.0);
  EXPECT_EQ(math::cos(0.5), std::cos(0.5));
  EXPECT_EQ(math::sin(0.5f), std::sin(0.5f));
  EXPECT_EQ(math::abs(-3.0f), 3.0f);
  EXPECT_EQ(math::max(1.0, 2.0), 2.0);
  EXPECT_EQ(math::min(1.0f, 2.0f), 1.0f);
  const double epsilon = std::ldexp(1.0, -30);
  EXPECT_EQ(math::fma(1 + epsilon, 1 - epsilon, -1.0), -epsilon * epsilon);
}

}  // namespace
}  // namespace minigift
