// Philox4x32-10: the published answers, distinct streams, moments of the derived distributions.

#include "kernels/format/philox.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace {

using namespace minigift;
using namespace minigift::test;

void expect_block(const PhiloxBlock& block, const std::array<std::uint32_t, 4>& expected) {
  EXPECT_EQ(block.word0, expected[0]);
  EXPECT_EQ(block.word1, expected[1]);
  EXPECT_EQ(block.word2, expected[2]);
  EXPECT_EQ(block.word3, expected[3]);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(block.word(i), expected[static_cast<std::size_t>(i)]);
  }
}

TEST(Philox, KnownAnswers) {
  expect_block(philox4x32({0, 0, 0, 0}, 0, 0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  expect_block(philox4x32({ones, ones, ones, ones}, ones, ones),
               {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  expect_block(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(Philox, StreamsDifferInEveryArgument) {
  const PhiloxKey base = philox_key(1, 2, 3, 4);
  const std::uint64_t high = std::uint64_t{1} << 40;
  for (const PhiloxKey& other :
       {philox_key(2, 2, 3, 4), philox_key(1, 3, 3, 4), philox_key(1, 2, 4, 4), philox_key(1, 2, 3, 5),
        philox_key(1 + high, 2, 3, 4), philox_key(1, 2 + high, 3, 4)}) {
    int equal = 0;
    for (std::int64_t i = 0; i < 1024; ++i) {
      equal += philox_bits(base, i) == philox_bits(other, i) ? 1 : 0;
    }
    EXPECT_LE(equal, 1);
  }
}

TEST(Philox, NoTwoOfManyStreamsShareTheirFirstOutputs) {
  std::vector<std::array<std::uint32_t, 4>> first;
  for (std::uint64_t step = 0; step < 64; ++step) {
    for (std::uint32_t tensor = 0; tensor < 128; ++tensor) {
      for (std::uint32_t rank = 0; rank < 128; ++rank) {
        const PhiloxBlock block = philox_block(philox_key(3, step, tensor, rank), 0);
        first.push_back({block.word0, block.word1, block.word2, block.word3});
      }
    }
  }
  ASSERT_EQ(first.size(), std::size_t{1} << 20);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
}

TEST(Philox, ElementsOfOneStreamDiffer) {
  const PhiloxKey key = philox_key(3, 0, 0, 0);
  std::vector<std::uint64_t> pairs;
  for (std::int64_t i = 0; i < (std::int64_t{1} << 20); ++i) {
    pairs.push_back(std::uint64_t{philox_bits(key, 2 * i)} << 32 | philox_bits(key, 2 * i + 1));
  }
  std::sort(pairs.begin(), pairs.end());
  EXPECT_EQ(std::adjacent_find(pairs.begin(), pairs.end()), pairs.end());
  // The counter is 64 bits wide: indices 2^32 blocks apart are different.
  EXPECT_NE(philox_bits(key, 0), philox_bits(key, std::int64_t{4} << 32));
}

TEST(Philox, UniformMoments) {
  const PhiloxKey key = philox_key(5, 0, 0, 0);
  const std::int64_t n = std::int64_t{1} << 20;
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double u = philox_uniform(key, i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  const double count = static_cast<double>(n);
  EXPECT_NEAR(sum / count, 0.5, 4 * std::sqrt(1.0 / 12 / count));
  EXPECT_NEAR(squares / count, 1.0 / 3, 4 * std::sqrt(4.0 / 45 / count));
  EXPECT_LT(uniform_from_bits(0xFFFFFFFFu), 1.0f);
  EXPECT_EQ(uniform_from_bits(0), 0.0f);
}

TEST(Philox, NormalMoments) {
  const PhiloxKey key = philox_key(6, 0, 0, 0);
  const std::int64_t n = std::int64_t{1} << 20;
  double sum = 0, squares = 0, fourth = 0, neighbours = 0, previous = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double z = philox_normal(key, i);
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    neighbours += z * previous;
    previous = z;
  }
  const double count = static_cast<double>(n);
  EXPECT_NEAR(sum / count, 0.0, 4 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1.0, 4 * std::sqrt(2 / count));
  EXPECT_NEAR(fourth / count, 3.0, 4 * std::sqrt(96 / count));
  EXPECT_NEAR(neighbours / count, 0.0, 4 / std::sqrt(count));
}

TEST(Philox, IntegersCoverTheirRangeEvenly) {
  const PhiloxKey key = philox_key(7, 0, 0, 0);
  std::array<int, 7> histogram{};
  const int n = 70000;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t value = philox_integer(key, i, 7);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 7);
    ++histogram[static_cast<std::size_t>(value)];
  }
  for (const int count : histogram) {
    EXPECT_NEAR(count, n / 7, 4 * std::sqrt(n / 7.0 * 6 / 7));
  }
}

}  // namespace
