// NVFP4, MXFP8 and MXFP4 against the serial oracle, bit for bit, and what they do to Gaussian values.

#include "kernels/error.hpp"
#include "kernels/format/block_format.hpp"
#include "kernels/reference/block_format.hpp"
#include "tests/kernels/format_support.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace minigift;
using namespace minigift::test;

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Variant {
  BlockFormat format;
  MxScaleRule rule;
};
std::string name_of(const Variant& variant) {
  return name(variant.format) + (variant.rule == MxScaleRule::truncated ? "_truncated" : "");
}
class BlockFormats : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(Variants, BlockFormats,
                         testing::Values(Variant{BlockFormat::nvfp4, MxScaleRule::rounded_up},
                                         Variant{BlockFormat::mxfp8, MxScaleRule::rounded_up},
                                         Variant{BlockFormat::mxfp8, MxScaleRule::truncated},
                                         Variant{BlockFormat::mxfp4, MxScaleRule::rounded_up},
                                         Variant{BlockFormat::mxfp4, MxScaleRule::truncated}),
                         [](const auto& info) { return name_of(info.param); });

std::vector<std::uint32_t> all_bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values)
    bits.push_back(std::isnan(value) ? 0x7FFFFFFFu : bits_of(value));
  return bits;
}

/// Codes, scales and decoded values of x equal the oracle's. Returns the decoded values.
std::vector<float> expect_oracle(const Variant& variant, const std::vector<float>& x, std::int64_t rows,
                                 std::int64_t columns) {
  const reference::BlockCodes expected = reference::block_round_trip(
      variant.format, variant.rule, x, rows, columns, reference::largest_magnitude(x));
  const BlockCodes codes = make_block_codes(variant.format, rows, columns);
  const Matrix<float> matrix = to_matrix(x, rows, columns), back = to_matrix(x, rows, columns);
  block_encode(matrix, codes, variant.rule);
  block_decode(codes, back);
  EXPECT_EQ(to_host(codes.scales), expected.scales);
  EXPECT_EQ(to_host(codes.codes), expected.codes);
  EXPECT_EQ(to_host(codes.tensor_scale)[0], expected.tensor_scale);
  const std::vector<float> decoded = values_of(back);
  EXPECT_EQ(all_bits(decoded), all_bits(expected.decoded));
  return decoded;
}

/// Normal values whose size changes from block to block over many binades, with zeros among them.
std::vector<float> uneven_values(std::int64_t count, std::uint64_t seed) {
  std::vector<float> x = normal_values(count, 1e-3f, seed);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::ldexp(x[i], -static_cast<int>(i / 48 % 23));
    if (i % 37 == 5) x[i] = i % 2 == 0 ? 0.0f : -0.0f;
  }
  return x;
}

TEST_P(BlockFormats, MatchTheOracleForEveryShape) {
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1},
                                                                                        {3, 5},
                                                                                        {2, 15},
                                                                                        {2, 16},
                                                                                        {2, 17},
                                                                                        {4, 31},
                                                                                        {4, 32},
                                                                                        {4, 33},
                                                                                        {5, 47},
                                                                                        {7, 64},
                                                                                        {64, 7},
                                                                                        {3, 1023},
                                                                                        {3, 1024},
                                                                                        {3, 1025},
                                                                                        {2, 1072},
                                                                                        {2, 2688},
                                                                                        {50, 384}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    expect_oracle(GetParam(), uneven_values(rows * columns, 3), rows, columns);
    expect_oracle(GetParam(), normal_values(rows * columns, 100.0f, 4), rows, columns);
  }
}

/// Each block full of its largest element's codes: every code at every scale of a wide range, and halfway
/// between codes.
TEST_P(BlockFormats, MatchTheOracleAtTiesAndAtTheEndsOfTheRange) {
  const std::int64_t columns = 32, rows = 2 * 254;
  std::vector<float> x;
  for (int exponent = -149; exponent < 105; ++exponent)
    for (const float offset : {0.0f, 0.25f}) {
      for (int i = 0; i < columns; ++i) {
        const double value = i % 16 == 0 ? 6.0 : reference::e2m1_decode(i % 16) + double{offset};
        x.push_back(static_cast<float>(std::ldexp(value, exponent)));
      }
    }
  // As one tensor, where the tensor's scale spans the range, and each row as a tensor of its own.
  expect_oracle(GetParam(), x, rows, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    SCOPED_TRACE(row);
    expect_oracle(GetParam(), std::vector<float>(x.begin() + row * columns, x.begin() + (row + 1) * columns),
                  1, columns);
  }
}

TEST_P(BlockFormats, ZerosStayZeros) {
  const std::vector<float> zeros(3 * 70, 0.0f);
  EXPECT_EQ(expect_oracle(GetParam(), zeros, 3, 70), zeros);
  std::vector<float> x(200, 0.0f);  // one block that is not zero
  x[50] = 3.0f;
  EXPECT_EQ(expect_oracle(GetParam(), x, 1, 200), x);
}

/// In NVFP4 a block can be too small for its scale: it becomes zeros, without a NaN from 0 * infinity.
TEST(Nvfp4, BlocksBelowTheSmallestScaleBecomeZeros) {
  std::vector<float> x(32, 0.0f);
  x[3] = 1.0f;
  x[20] = 1e-7f;
  const std::vector<float> decoded = expect_oracle({BlockFormat::nvfp4, MxScaleRule::rounded_up}, x, 1, 32);
  EXPECT_FLOAT_EQ(decoded[3], 1.0f);
  EXPECT_EQ(decoded[20], 0.0f);
}

TEST_P(BlockFormats, NothingNonFiniteIsLost) {
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()})
    for (const std::int64_t where : {0, 15, 16, 31, 32, 69, 70, 139}) {
      std::vector<float> x = normal_values(140, 1.0f, 8);
      x[static_cast<std::size_t>(where)] = bad;
      const std::vector<float> decoded = expect_oracle(GetParam(), x, 2, 70);
      const std::int64_t width = block_elements(GetParam().format);
      for (std::int64_t i = 0; i < 140; ++i) {
        const bool same_block = i / 70 == where / 70 && i % 70 / width == where % 70 / width;
        EXPECT_EQ(std::isnan(decoded[static_cast<std::size_t>(i)]),
                  same_block || GetParam().format == BlockFormat::nvfp4)
            << "element " << i << " of a matrix with " << bad << " at " << where;
      }
    }
}

/// Rounded up: the largest element of a block is at most half a step off. Truncated: it may lose a quarter.
TEST(MxScaleRule, LargestElementsSaturateOnlyWhenTruncated) {
  for (const auto& [format, largest, half_step] :
       {std::tuple{BlockFormat::mxfp8, 448.0, 1.0 / 16}, std::tuple{BlockFormat::mxfp4, 6.0, 1.0 / 4}})
    for (const MxScaleRule rule : {MxScaleRule::rounded_up, MxScaleRule::truncated}) {
      double worst = 0;
      for (double value = 1; value < 2; value += 1.0 / 512) {
        const std::vector<float> block(32, static_cast<float>(value));
        const std::vector<float> decoded = expect_oracle({format, rule}, block, 1, 32);
        worst = std::max(worst, std::abs(double{decoded[0]} / value - 1));
      }
      const double saturated = 1 - largest / std::ldexp(2.0, std::ilogb(largest));  // as value -> 2
      if (rule == MxScaleRule::truncated)
        EXPECT_NEAR(worst, saturated, 0.002);
      else
        EXPECT_LE(worst, half_step / (1 + half_step) + 1e-6);
    }
}

/// Ranks whose blocks are to be combined encode with the MAX of their amax.
TEST(Nvfp4, TakesAnAmaxOfSeveralRanks) {
  const std::vector<float> x = normal_values(500, 1.0f, 6);
  const Vector<float> amax("amax", 1);
  largest_magnitude(to_device(x), amax);
  EXPECT_EQ(to_host(amax)[0], reference::largest_magnitude(x));
  for (const float factor : {1.0f, 3.0f, 1000.0f}) {
    const float shared = factor * reference::largest_magnitude(x);
    const reference::BlockCodes expected =
        reference::block_round_trip(BlockFormat::nvfp4, MxScaleRule::rounded_up, x, 5, 100, shared);
    const BlockCodes codes = make_block_codes(BlockFormat::nvfp4, 5, 100);
    block_encode(to_matrix(x, 5, 100), to_device(std::vector<float>{shared}), codes);
    EXPECT_EQ(to_host(codes.tensor_scale)[0], expected.tensor_scale);
    EXPECT_EQ(to_host(codes.scales), expected.scales);
    EXPECT_EQ(to_host(codes.codes), expected.codes);
  }
}

TEST(LargestMagnitude, OfAllLengths) {
  const Vector<float> amax("amax", 1);
  largest_magnitude(Vector<float>("empty", 0), amax);
  EXPECT_EQ(to_host(amax)[0], 0.0f);
  for (const std::int64_t count : {1, 2, 4095, 4096, 4097, 20000}) {
    std::vector<float> x = normal_values(count, 1.0f, 6);
    x.back() = -50.0f;
    largest_magnitude(to_device(x), amax);
    EXPECT_EQ(to_host(amax)[0], 50.0f);
    x.front() = -std::numeric_limits<float>::quiet_NaN();
    largest_magnitude(to_device(x), amax);
    EXPECT_EQ(to_host(amax)[0], infinity);
  }
}

/// The rounding floor of each format on Gaussian values; numerics.md has 0.094 to 0.096 for NVFP4.
TEST_P(BlockFormats, RoundingFloorOfGaussians) {
  const std::int64_t rows = 256, columns = 4096;
  const std::vector<float> x = normal_values(rows * columns, 1e-3f, 7);
  const Matrix<float> matrix = to_matrix(x, rows, columns), back("back", 256, 4096);
  const BlockCodes codes = make_block_codes(GetParam().format, rows, columns);
  block_encode(matrix, codes, GetParam().rule);
  block_decode(codes, back);
  const double error = relative_l2(values_of(back), x);
  std::printf("%-18s relative L2 error of Gaussian values %.5f, %.5f bytes per element\n",
              name_of(GetParam()).c_str(), error, bytes_per_element(GetParam().format));
  const bool truncated = GetParam().rule == MxScaleRule::truncated;
  const double expected = GetParam().format == BlockFormat::nvfp4   ? 0.0951
                          : GetParam().format == BlockFormat::mxfp8 ? (truncated ? 0.0291 : 0.0265)
                                                                    : (truncated ? 0.1145 : 0.1156);
  EXPECT_NEAR(error, expected, 0.006 * expected);
}

TEST(BlockFormat, NamesAndSizes) {
  for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp8, BlockFormat::mxfp4})
    EXPECT_EQ(block_format_from_name(name(format)), format);
  EXPECT_THROW(block_format_from_name("fp4"), UsageError);
  EXPECT_EQ(bytes_per_element(BlockFormat::nvfp4), 0.5625);
  EXPECT_EQ(bytes_per_element(BlockFormat::mxfp8), 1.03125);
  EXPECT_EQ(bytes_per_element(BlockFormat::mxfp4), 0.53125);
  for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp8, BlockFormat::mxfp4}) {
    const BlockCodes codes = make_block_codes(format, 4, 64);
    EXPECT_EQ(static_cast<double>(codes.codes.size() + codes.scales.size()), 256 * bytes_per_element(format));
    const BlockCodes empty = make_block_codes(format, 0, 5);
    block_encode(Matrix<float>("x", 0, 5), empty);
    block_decode(empty, Matrix<float>("x", 0, 5));
    EXPECT_THROW(make_block_codes(format, -1, 5), RuntimeError);
    EXPECT_THROW(block_encode(Matrix<float>("x", 4, 63), codes), RuntimeError);
    EXPECT_THROW(block_decode(codes, Matrix<float>("x", 5, 64)), RuntimeError);
  }
  EXPECT_THROW(
      block_encode(Matrix<float>("x", 4, 64), Vector<float>(), make_block_codes(BlockFormat::nvfp4, 4, 64)),
      RuntimeError);
}

}  // namespace
