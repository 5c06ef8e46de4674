// Hadamard rotations: equal to the matrix of the definition, orthonormal, undone by their transpose, and
// mixing.

#include "kernels/error.hpp"
#include "kernels/format/hadamard.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/reference/hadamard.hpp"
#include "kernels/reference/whitening.hpp"
#include "kernels/slice.hpp"
#include "tests/kernels/format_support.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

using namespace minigift;
using namespace minigift::test;
using Values = std::vector<double>;

std::size_t at(std::int64_t i, std::int64_t j, std::int64_t columns) {
  return static_cast<std::size_t>(i * columns + j);
}

/// R (d, d), by rotating the rows of the identity.
Values matrix_of(const Hadamard& hadamard, bool inverse = false) {
  const std::int64_t d = hadamard.dimension;
  std::vector<float> identity(static_cast<std::size_t>(d * d), 0.0f);
  for (std::int64_t i = 0; i < d; ++i)
    identity[at(i, i, d)] = 1;
  const Matrix<float> w = to_matrix(identity, d, d);
  if (inverse)
    apply_inverse_hadamard(w, hadamard);
  else
    apply_hadamard(w, hadamard);
  return to_double(values_of(w));
}

TEST(Hadamard, IsTheMatrixOfTheDefinition) {
  for (const std::int64_t d : {2, 4, 6, 8, 12, 16, 24, 40, 64, 96, 112, 128, 384})
    for (const int passes : {1, 2}) {
      SCOPED_TRACE(testing::Message() << d << " columns, " << passes << " passes");
      const Hadamard hadamard = make_hadamard(d, 5, passes);
      EXPECT_EQ(d / hadamard.width % 2, 1);
      EXPECT_EQ(d % hadamard.width, 0);
      const Values signs = to_double(to_host(hadamard.signs));
      Values expected =
          reference::hadamard_pass(Values(signs.begin(), signs.begin() + d), hadamard.width, false);
      if (passes == 2)
        expected = reference::product(
            expected, reference::hadamard_pass(Values(signs.begin() + d, signs.end()), hadamard.width, true),
            d, d, d);
      const Values found = matrix_of(hadamard), inverse = matrix_of(hadamard, true);
      for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j) {
          ASSERT_NEAR(found[at(i, j, d)], expected[at(i, j, d)], 1e-6) << i << " " << j;
          ASSERT_NEAR(inverse[at(j, i, d)], expected[at(i, j, d)], 1e-6) << i << " " << j;
        }
    }
}

class HadamardOf : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Dimensions, HadamardOf, testing::Values(64, 384, 1024, 2688, 3392));

/// Rows of R: some against all.
TEST_P(HadamardOf, IsOrthonormal) {
  const std::int64_t d = GetParam();
  for (const int passes : {1, 2}) {
    const Values r = matrix_of(make_hadamard(d, 3, passes));
    for (std::int64_t i = 0; i < d; i += d / 16 + 1)
      for (std::int64_t j = 0; j < d; ++j) {
        double product = 0;
        for (std::int64_t k = 0; k < d; ++k)
          product += r[at(i, k, d)] * r[at(j, k, d)];
        ASSERT_NEAR(product, i == j ? 1 : 0, 1e-6) << "rows " << i << " " << j;
      }
  }
}

TEST_P(HadamardOf, InverseUndoesItToRounding) {
  const std::int64_t d = GetParam(), m = 37;
  for (const int passes : {1, 2}) {
    const Hadamard hadamard = make_hadamard(d, 3, passes);
    const Matrix<float> w = gaussian_matrix<float>(m, d, 4);
    const std::vector<float> before = values_of(w);
    apply_hadamard(w, hadamard);
    const std::vector<float> rotated = values_of(w);
    apply_inverse_hadamard(w, hadamard);
    const std::vector<float> after = values_of(w);
    EXPECT_LE(relative_l2(after, before), 5e-7);
    for (std::size_t i = 0; i < after.size(); ++i)
      ASSERT_NEAR(after[i], before[i], 4e-6);  // of a row of unit elements
    double energy = 0, expected = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      energy += double{rotated[i]} * double{rotated[i]};
      expected += double{before[i]} * double{before[i]};
    }
    EXPECT_NEAR(energy, expected, 1e-6 * expected);
  }
}

/// One column goes to every other, and with two passes in unequal shares, none of them large.
TEST_P(HadamardOf, MixesAllColumns) {
  const std::int64_t d = GetParam();
  const Values r = matrix_of(make_hadamard(d, 3));
  const double even = 1 / std::sqrt(static_cast<double>(d));
  double largest = 0;
  std::int64_t zeros = 0;
  for (const double entry : r) {
    largest = std::max(largest, std::abs(entry));
    zeros += entry == 0 ? 1 : 0;
  }
  EXPECT_LE(largest, 7 * even);
  EXPECT_LE(static_cast<double>(zeros), 0.35 * static_cast<double>(r.size()));  // few terms cancel by chance
  const std::int64_t width = d & -d, blocks = d / width;
  for (std::int64_t i = 0; i < d; i += d / 8 + 1)  // the energy that a column sends to each block
    for (std::int64_t block = 0; block < blocks; ++block) {
      double energy = 0;
      for (std::int64_t j = 0; j < width; ++j)
        energy += r[at(i, block * width + j, d)] * r[at(i, block * width + j, d)];
      EXPECT_GT(energy, 0.2 / static_cast<double>(blocks)) << "column " << i << " block " << block;
      EXPECT_LT(energy, 3.0 / static_cast<double>(blocks)) << "column " << i << " block " << block;
    }
}

/// What it is for: INT8 with a scale per row, which one large column makes coarse for all the others.
TEST(HadamardRotation, SharesALargeColumnAmongAll) {
  const std::int64_t m = 64, d = 384;
  std::vector<float> x = normal_values(m * d, 1.0f, 3);
  for (std::int64_t i = 0; i < m; ++i)
    x[at(i, 100, d)] *= 30.0f;
  std::vector<Tile> list;
  for (std::int64_t i = 0; i < m; ++i)
    append_tiles(list, i * d, i * d, d, i);
  const Tiles tiles = make_tiles(list, m * d, m * d, m);
  const auto error = [&](int passes) {
    const Matrix<float> w = to_matrix(x, m, d);
    const Hadamard hadamard = make_hadamard(d, 9, std::max(passes, 1));
    if (passes > 0) apply_hadamard(w, hadamard);
    const Vector<float> values = flatten(w), amax("amax", 64), scale("scale", 64);
    const Vector<std::uint8_t> codes("codes", w.size());
    group_amax(values, tiles, amax);
    scales_from_amax(Format::int8, 1.0f, amax, scale);
    quantize(Format::int8, Rounding::nearest_even, values, tiles, scale, codes, Vector<float>(), PhiloxKey(),
             nullptr);
    dequantize(Format::int8, codes, tiles, scale, 1.0f, values);
    if (passes > 0) apply_inverse_hadamard(w, hadamard);
    return relative_l2(values_of(w), x);
  };
  EXPECT_LT(error(1), 0.5 * error(0));
  EXPECT_LT(error(2), 0.5 * error(0));
}

TEST(HadamardRotation, DependsOnItsSeedAlone) {
  const auto signs = [](std::uint64_t seed) { return to_host(make_hadamard(384, seed).signs); };
  EXPECT_EQ(signs(1), signs(1));
  EXPECT_NE(signs(1), signs(2));
  double sum = 0;
  for (const float sign : signs(1))
    sum += sign > 0 ? 1 : -1;
  EXPECT_LE(std::abs(sum), 5 * std::sqrt(768.0));
}

TEST(HadamardRotation, RefusesWhatHasNoHadamardMatrix) {
  for (const std::int64_t d : {0, 1, 3, 2687, -2})
    EXPECT_THROW(make_hadamard(d, 1), RuntimeError) << d;
  EXPECT_THROW(make_hadamard(4, 1, 0), RuntimeError);
  EXPECT_THROW(make_hadamard(4, 1, 3), RuntimeError);
  EXPECT_THROW(apply_hadamard(Matrix<float>("w", 2, 6), make_hadamard(4, 1)), RuntimeError);
  apply_hadamard(Matrix<float>("w", 0, 4), make_hadamard(4, 1));
}

}  // namespace
