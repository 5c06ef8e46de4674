// The sketch and the factors made from it.

#include "kernels/error.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/geometry/dense.hpp"
#include "kernels/geometry/factor.hpp"
#include "kernels/linalg/workspace.hpp"
#include "kernels/reference/sketch.hpp"
#include "kernels/reference/whitening.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace minigift {
namespace {

using test::to_double;
using test::values_of;
using Values = std::vector<double>;

double norm(const Values& a) {
  double sum = 0;
  for (const double value : a)
    sum += value * value;
  return std::sqrt(sum);
}
double relative_difference(const Values& a, const Values& b) {
  Values difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    difference[i] = a[i] - b[i];
  return norm(difference) / norm(b);
}

/// Tokens whose second moment has eigenvalues that fall as 1 / i^2: (R, d).
Matrix<float> tokens(std::int64_t rows, std::int64_t d, std::uint64_t seed) {
  std::vector<float> values = test::gaussian<float>(rows * d, seed);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] *= 10.0f / static_cast<float>(1 + i % static_cast<std::size_t>(d));
  return test::to_matrix(values, rows, d);
}

Sketch sketch_of(const Matrix<float>& x, const Matrix<float>& omega) {
  Sketch sketch = make_sketch(extent(omega, 0), extent(omega, 1));
  sketch_accumulate<float>(x, omega, sketch);
  return sketch;
}

TEST(Sketch, TestMatrixIsOrthonormalAndReproducible) {
  const Matrix<float> omega = sketch_test_matrix(96, 24, 11);
  const Values values = to_double(values_of(omega));
  double worst = 0;
  for (std::size_t a = 0; a < 24; ++a)
    for (std::size_t b = 0; b < 24; ++b) {
      double sum = a == b ? -1 : 0;
      for (std::size_t i = 0; i < 96; ++i)
        sum += values[i * 24 + a] * values[i * 24 + b];
      worst = std::max(worst, std::abs(sum));
    }
  EXPECT_LE(worst, 0x1p-8);  // each element is rounded to bfloat16
  for (const float value : values_of(omega))
    EXPECT_EQ(to_float(to_bfloat16(value)), value);
  EXPECT_EQ(values_of(sketch_test_matrix(96, 24, 11)), values_of(omega));
  EXPECT_NE(values_of(sketch_test_matrix(96, 24, 12)), values_of(omega));
  EXPECT_THROW(sketch_test_matrix(8, 9, 1), RuntimeError);
  EXPECT_THROW(sketch_test_matrix(8, 0, 1), RuntimeError);
}

TEST(Sketch, MatchesSerialSum) {
  const std::int64_t rows = 150, d = 37, k = 9;
  const Matrix<float> x = tokens(rows, d, 3), omega = sketch_test_matrix(d, k, 5);
  const Sketch sketch = sketch_of(x, omega);
  const Values expected = reference::sketch(to_double(values_of(x)), rows, d, to_double(values_of(omega)), k);
  EXPECT_LE(relative_difference(to_double(values_of(sketch.y)), expected), 1e-6);
  const Values trace_count = values_of(sketch.trace_count);
  const double energy = std::pow(norm(to_double(values_of(x))), 2);
  EXPECT_NEAR(trace_count[0], energy, 1e-10 * energy);
  EXPECT_EQ(trace_count[1], 150);
}

TEST(Sketch, Bfloat16InputsDifferByTheRoundingOfTheProjectionOnly) {
  const std::int64_t rows = 512, d = 64, k = 16;
  const Matrix<float> x = tokens(rows, d, 3), omega = sketch_test_matrix(d, k, 5);
  const Matrix<bfloat16> narrow("narrow", x.extent(0), x.extent(1));
  convert_to_bfloat16(flatten(x), flatten(narrow));
  convert_to_float(flatten(narrow), flatten(x));
  Sketch sketch = make_sketch(d, k);
  sketch_accumulate<bfloat16>(narrow, omega, sketch);
  const Sketch exact = sketch_of(x, omega);
  const double difference =
      relative_difference(to_double(values_of(sketch.y)), to_double(values_of(exact.y)));
  EXPECT_LE(difference, 0x1p-9);
  EXPECT_GT(difference, 1e-6);  // a bfloat16 product really ran
  EXPECT_EQ(values_of(sketch.trace_count), values_of(exact.trace_count));
}

TEST(Sketch, AddsOverMicroBatchesAndResets) {
  const Matrix<float> omega = sketch_test_matrix(40, 10, 1);
  const Matrix<float> first = tokens(30, 40, 1), second = tokens(50, 40, 2);
  Sketch both = sketch_of(first, omega);
  SketchWorkspace workspace;
  sketch_accumulate<float>(second, omega, both, workspace);
  Values sum = to_double(values_of(sketch_of(first, omega).y));
  const Values other = to_double(values_of(sketch_of(second, omega).y));
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] += other[i];
  EXPECT_LE(relative_difference(to_double(values_of(both.y)), sum), 1e-6);
  EXPECT_EQ(values_of(both.trace_count)[1], 80);
  sketch_accumulate<float>(Matrix<float>("none", 0, 40), omega, both, workspace);
  EXPECT_EQ(values_of(both.trace_count)[1], 80);
  sketch_reset(both);
  EXPECT_EQ(norm(to_double(values_of(both.y))), 0);
  EXPECT_EQ(values_of(both.trace_count), Values(2, 0.0));
  EXPECT_THROW(sketch_accumulate<float>(tokens(3, 41, 1), omega, both), RuntimeError);
}

TEST(NystromFactor, FindsTheLeadingEigenpairs) {
  const std::int64_t d = 80, k = 24, rank = 8;
  const Matrix<float> x = tokens(2000, d, 4), omega = sketch_test_matrix(d, k, 5);
  const LowRankFactor factor = nystrom_factor(sketch_of(x, omega), omega, rank);
  const LowRankFactor exact = exact_factor(second_moment(x), rank);
  ASSERT_EQ(factor.eigenvalues.size(), 8u);
  EXPECT_EQ(factor.dimension, d);
  EXPECT_NEAR(factor.trace, exact.trace, 1e-6 * exact.trace);
  for (std::size_t i = 0; i < 8; ++i) {
    // Nystroem never overestimates, beyond rounding.
    EXPECT_LE(factor.eigenvalues[i], exact.eigenvalues[i] * (1 + 1e-4));
    EXPECT_GE(factor.eigenvalues[i], exact.eigenvalues[i] * (i < 2 ? 0.98 : 0.85));
    if (i > 0) {
      EXPECT_LE(factor.eigenvalues[i], factor.eigenvalues[i - 1]);
    }
  }
  const Values u = to_double(values_of(factor.basis)), v = to_double(values_of(exact.basis));
  for (std::size_t column = 0; column < 3; ++column) {
    double overlap = 0;
    for (std::size_t i = 0; i < 80; ++i)
      overlap += u[i * 8 + column] * v[i * 8 + column];
    EXPECT_GT(overlap, 0.99) << "eigenvector " << column << ", sign included";
  }
}

TEST(NystromFactor, SignsAreFixedAndBitsRepeat) {
  const Matrix<float> omega = sketch_test_matrix(50, 12, 5);
  const Sketch sketch = sketch_of(tokens(300, 50, 6), omega);
  const LowRankFactor factor = nystrom_factor(sketch, omega, 6), again = nystrom_factor(sketch, omega, 6);
  EXPECT_EQ(values_of(factor.basis), values_of(again.basis));
  EXPECT_EQ(factor.eigenvalues, again.eigenvalues);
  const std::vector<float> u = values_of(factor.basis);
  for (std::size_t column = 0; column < 6; ++column) {
    float extreme = 0;
    for (std::size_t i = 0; i < 50; ++i)
      if (std::abs(u[i * 6 + column]) > std::abs(extreme)) extreme = u[i * 6 + column];
    EXPECT_GT(extreme, 0);
  }
}

/// Fewer directions in the data than asked for: the rank is what the data has.
TEST(NystromFactor, RankDeficientTokens) {
  const std::int64_t d = 64, k = 20;
  const Matrix<float> omega = sketch_test_matrix(d, k, 5);
  const Values left = to_double(test::gaussian<float>(200 * 3, 1)),
               right = to_double(test::gaussian<float>(3 * d, 2));
  const Values product = reference::product(left, right, 200, 3, d);
  const Matrix<float> x = test::to_matrix(std::vector<float>(product.begin(), product.end()), 200, d);
  const LowRankFactor factor = nystrom_factor(sketch_of(x, omega), omega, 16);
  const LowRankFactor exact = exact_factor(second_moment(x), 3);
  ASSERT_EQ(factor.eigenvalues.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(factor.eigenvalues[i], exact.eigenvalues[i], 1e-3 * exact.eigenvalues[0]);
  EXPECT_EQ(factor.basis.extent(1), 3u);
}

TEST(NystromFactor, OneTokenGivesOneDirection) {
  const Matrix<float> omega = sketch_test_matrix(16, 8, 5);
  const Matrix<float> x = test::gaussian_matrix<float>(1, 16, 3);
  const LowRankFactor factor = nystrom_factor(sketch_of(x, omega), omega, 8);
  ASSERT_EQ(factor.eigenvalues.size(), 1u);
  EXPECT_NEAR(factor.eigenvalues[0], factor.trace, 1e-4 * factor.trace);
}

TEST(NystromFactor, RankIsCutAtTheSketchAndTheDimension) {
  const Matrix<float> omega = sketch_test_matrix(6, 6, 5);
  const LowRankFactor factor =
      nystrom_factor(sketch_of(test::gaussian_matrix<float>(500, 6, 3), omega), omega, 32);
  EXPECT_EQ(factor.eigenvalues.size(), 6u);
}

TEST(NystromFactor, NothingSeenGivesRankZero) {
  const Matrix<float> omega = sketch_test_matrix(16, 8, 5);
  const LowRankFactor none = nystrom_factor(make_sketch(16, 8), omega, 4);
  EXPECT_EQ(none.eigenvalues.size(), 0u);
  EXPECT_EQ(none.trace, 0);
  const LowRankFactor zeros = nystrom_factor(sketch_of(Matrix<float>("zeros", 10, 16), omega), omega, 4);
  EXPECT_EQ(zeros.eigenvalues.size(), 0u);
  EXPECT_EQ(zeros.basis.extent(1), 0u);
}

TEST(NystromFactor, RefusesNonFiniteSketches) {
  const Matrix<float> omega = sketch_test_matrix(16, 8, 5);
  std::vector<float> values = test::gaussian<float>(10 * 16, 3);
  values[20] = std::numeric_limits<float>::quiet_NaN();
  const Sketch sketch = sketch_of(test::to_matrix(values, 10, 16), omega);
  EXPECT_THROW(nystrom_factor(sketch, omega, 4), RuntimeError);
  EXPECT_THROW(sketch_warm_test_matrix(sketch, omega), RuntimeError);
}

/// A sketch with the previous one's range in place of a random matrix is closer to the exact factor.
TEST(NystromFactor, WarmTestMatrixImproves) {
  const std::int64_t d = 120, k = 12, rank = 8;
  std::vector<float> values = test::gaussian<float>(4000 * d, 8);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] /= std::sqrt(static_cast<float>(1 + i % static_cast<std::size_t>(d)));  // a slow decay, 1 / i
  const Matrix<float> x = test::to_matrix(values, 4000, d), omega = sketch_test_matrix(d, k, 5);
  const Sketch cold = sketch_of(x, omega);
  const Matrix<float> warm_omega = sketch_warm_test_matrix(cold, omega);
  const auto missing = [&](const LowRankFactor& factor) {
    double energy = 0;
    for (const double value : exact_factor(second_moment(x), rank).eigenvalues)
      energy += value;
    for (const double value : factor.eigenvalues)
      energy -= value;
    return energy;
  };
  const double cold_missing = missing(nystrom_factor(cold, omega, rank));
  const double warm_missing = missing(nystrom_factor(sketch_of(x, warm_omega), warm_omega, rank));
  EXPECT_GT(cold_missing, 0);
  EXPECT_LT(warm_missing, 0.5 * cold_missing);
  EXPECT_EQ(values_of(warm_omega), values_of(sketch_warm_test_matrix(cold, omega)));
}

}  // namespace
}  // namespace minigift
