// The inputs: made of integers, so that any rank can form any other's, and with what sums need to be hard.
#include "miniapp/comm/inputs.hpp"

#include "kernels/device/memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace {

using namespace minigift;

TEST(CommInputs, ElementsAreNeverZeroAndUseAllBits) {
  const PhiloxKey key = input_key(3, 5, InputStream::elements);
  double square = 0;
  std::set<int> exponents;
  std::uint32_t mantissas = 0;
  constexpr std::int64_t count = 100000;
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = input_element(key, i);
    ASSERT_NE(x, 0.0f);
    ASSERT_LE(std::abs(x), 2.0f);
    // A multiple of 2^-30, which makes FP64 sums exact.
    ASSERT_EQ(std::ldexp(x, 30), std::trunc(std::ldexp(x, 30)));
    exponents.insert(std::ilogb(x));
    mantissas |= bit_cast<std::uint32_t>(x) & 0x7FFFFFu;
    square += static_cast<double>(x) * static_cast<double>(x);
  }
  EXPECT_GE(exponents.size(), 16u);
  EXPECT_EQ(mantissas, 0x7FFFFFu);
  // Variance of four uniforms on [0, 1) is 1/3, and E[4^-e] = (1 - 4^-8) / (8 * 3/4).
  EXPECT_NEAR(square / count, (1 - std::pow(4.0, -8)) / 6 / 3, 2e-3);
}

TEST(CommInputs, RanksSeedsAndIndicesDiffer) {
  const auto at = [](std::int64_t seed, int rank, std::int64_t i) {
    return input_element(input_key(seed, rank, InputStream::elements), i);
  };
  EXPECT_EQ(at(1, 0, 7), at(1, 0, 7));
  EXPECT_NE(at(1, 0, 7), at(1, 1, 7));
  EXPECT_NE(at(1, 0, 7), at(2, 0, 7));
  EXPECT_NE(at(1, 0, 7), at(1, 0, 8));
}

TEST(CommInputs, SumsOverTheRanksAreExact) {
  constexpr int ranks = 5;
  GradientInputs inputs(11, 1000, 2, ranks);
  const ExactSums& sums = inputs.sums(300, 40);
  ASSERT_EQ(sums.sum.size(), 40u);
  for (std::int64_t i = 0; i < 40; ++i) {
    std::int64_t units = 0;  // of 2^-30
    std::int64_t magnitude = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto unit = static_cast<std::int64_t>(
          std::ldexp(input_element(input_key(11, rank, InputStream::elements), 300 + i), 30));
      units += unit;
      magnitude += std::abs(unit);
    }
    EXPECT_EQ(sums.sum[static_cast<std::size_t>(i)], std::ldexp(static_cast<double>(units), -30));
    EXPECT_EQ(sums.magnitude[static_cast<std::size_t>(i)], std::ldexp(static_cast<double>(magnitude), -30));
  }
}

TEST(CommInputs, GradientChangesItsSignWhenAsked) {
  GradientInputs inputs(1, 33, 0, 2);
  const auto plain = on_host(inputs.gradient(false));
  const auto negated = on_host(inputs.gradient(true));
  const auto again = on_host(inputs.gradient(true));
  for (std::size_t i = 0; i < 33; ++i) {
    EXPECT_EQ(plain(i), input_element(input_key(1, 0, InputStream::elements), static_cast<std::int64_t>(i)));
    EXPECT_EQ(negated(i), -plain(i));
    EXPECT_EQ(again(i), -plain(i));
  }
  EXPECT_EQ(on_host(inputs.gradient(false))(7), plain(7));
}

TEST(CommInputs, BytesContinueFromAnyBlockAndSingleChangesAreCounted) {
  const PhiloxKey key = input_key(1, 1, InputStream::bytes);
  const Vector<std::uint8_t> all("all", 100);
  fill_input_bytes(key, 0, all);
  EXPECT_EQ(count_wrong_bytes(key, 0, all), 0);
  const Vector<std::uint8_t> rest("rest", 52);
  fill_input_bytes(key, 48, rest);
  const auto host = on_host(all);
  const auto host_rest = on_host(rest);
  for (std::size_t i = 0; i < 52; ++i)
    EXPECT_EQ(host_rest(i), host(48 + i));
  for (const std::size_t place : {std::size_t{0}, std::size_t{50}, std::size_t{99}}) {
    const auto changed = on_host(all);
    changed(place) = static_cast<std::uint8_t>(changed(place) ^ 1u);
    const Vector<std::uint8_t> damaged("damaged", 100);
    copy(damaged, changed);
    EXPECT_EQ(count_wrong_bytes(key, 0, damaged), 1) << place;
  }
}

}  // namespace
