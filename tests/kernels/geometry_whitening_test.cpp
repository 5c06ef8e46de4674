// Low-rank whitening: the gains by their formula, the products against dense oracles, the inverse, and gamma.

#include "kernels/error.hpp"
#include "kernels/geometry/gamma.hpp"
#include "kernels/geometry/whitening.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/workspace.hpp"
#include "kernels/reference/whitening.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace minigift {
namespace {

using test::to_double;
using test::values_of;
using Values = std::vector<double>;

/// A factor with the given eigenvalues on random orthonormal directions; the rest of the spectrum sums to
/// `tail`.
LowRankFactor factor_of(std::int64_t d, const Values& eigenvalues, double tail, std::uint64_t seed = 3) {
  const auto rank = static_cast<std::int64_t>(eigenvalues.size());
  const Matrix<float> basis = test::gaussian_matrix<float>(d, rank, seed);
  thin_qr(basis, Matrix<float>("r", eigenvalues.size(), eigenvalues.size()));
  return {basis, eigenvalues, std::accumulate(eigenvalues.begin(), eigenvalues.end(), tail), d};
}

WhiteningOptions options_of(double exponent, Completion completion, double damping) {
  WhiteningOptions options;
  options.exponent = exponent;
  options.completion = completion;
  options.damping = damping;
  return options;
}

void expect_gains(const LowRankWhitening& whitening, const Values& lambda, double tail, double exponent) {
  const std::vector<float> forward = values_of(whitening.forward), inverse = values_of(whitening.inverse);
  ASSERT_EQ(forward.size(), lambda.size());
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    const double gain = std::pow(tail / lambda[i], exponent);
    EXPECT_NEAR(forward[i], gain - 1, 1e-7);
    EXPECT_NEAR(inverse[i], 1 / gain - 1, 2e-7 / (gain * gain));
    EXPECT_NEAR((1.0 + forward[i]) * (1.0 + inverse[i]), 1, 1e-7);
  }
}

TEST(LowRankWhitening, GainsFollowTheFormula) {
  const Values lambda = {90, 25, 4};
  const LowRankFactor factor = factor_of(23, lambda, 10);  // 20 directions of mean 0.5, trace 129
  expect_gains(make_low_rank_whitening(factor, options_of(0.25, Completion::tail, 0)), lambda, 0.5, 0.25);
  expect_gains(make_low_rank_whitening(factor, options_of(0.5, Completion::tail, 0)), lambda, 0.5, 0.5);
  expect_gains(make_low_rank_whitening(factor, options_of(0.5, Completion::edge, 0)), lambda, 4, 0.5);
  expect_gains(make_low_rank_whitening(factor, options_of(0.5, Completion::mean, 0)), lambda, 129.0 / 23,
               0.5);
}

TEST(LowRankWhitening, DampingIsRelativeUnlessAbsolute) {
  const Values lambda = {90, 25, 4};
  const LowRankFactor factor = factor_of(23, lambda, 10);
  const auto damped = [&](double by) {
    Values values = lambda;
    for (double& value : values)
      value += by;
    return values;
  };
  const double relative = 0.1 * 129.0 / 23;
  WhiteningOptions options = options_of(0.25, Completion::tail, 0.1);
  expect_gains(make_low_rank_whitening(factor, options), damped(relative), 0.5 + relative, 0.25);
  options.absolute_damping = true;
  expect_gains(make_low_rank_whitening(factor, options), damped(0.1), 0.6, 0.25);
}

TEST(LowRankWhitening, TailHasAFloorAndTheConditionACap) {
  // The eigenvalues take the whole trace: the tail would be zero, or negative by rounding.
  const Values lambda = {60, 40};
  expect_gains(make_low_rank_whitening(factor_of(10, lambda, -1e-9), options_of(0.25, Completion::tail, 0)),
               lambda, 1e-4 * 10, 0.25);
  WhiteningOptions options = options_of(0.5, Completion::tail, 0);
  options.condition_cap = 10;
  expect_gains(make_low_rank_whitening(factor_of(10, lambda, 1e-3), options), lambda, 0.6, 0.5);
  // Nothing outside the leading space.
  expect_gains(make_low_rank_whitening(factor_of(2, lambda, 0), options_of(0.5, Completion::tail, 0)), lambda,
               40, 0.5);
}

TEST(LowRankWhitening, AppliesTheDenseTransform) {
  const std::int64_t m = 19, d = 31;
  const LowRankFactor factor = factor_of(d, {50, 20, 7, 3}, 27);
  const LowRankWhitening whitening = make_low_rank_whitening(factor, WhiteningOptions());
  EXPECT_FALSE(whitening.is_identity);
  const Matrix<float> w = test::gaussian_matrix<float>(m, d, 1);
  const Values before = to_double(values_of(w)), basis = to_double(values_of(whitening.basis));
  Vector<float> workspace;
  for (const Vector<float>& gain : {whitening.forward, whitening.inverse}) {
    const Matrix<float> u = test::clone(w);
    apply_low_rank(u, whitening.basis, gain, workspace);
    const Values expected = reference::product(
        before, reference::low_rank_transform(basis, to_double(values_of(gain)), d), m, d, d);
    const std::vector<float> actual = values_of(u);
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 2e-5);
  }
}

/// T T^{-1} = I to 1e-5 in FP32, element by element of the identity, at the condition of the synthetic
/// gradient (17).
TEST(LowRankWhitening, InverseUndoesTheTransform) {
  for (const double exponent : {0.25, 0.5}) {
    const std::int64_t d = 256;
    Values lambda;
    for (int i = 1; i <= 12; ++i)
      lambda.push_back(1 + 300.0 / i);
    const LowRankWhitening whitening = make_low_rank_whitening(
        factor_of(d, lambda, static_cast<double>(d) - 12), options_of(exponent, Completion::tail, 1e-3));
    std::vector<float> identity(static_cast<std::size_t>(d * d), 0.0f);
    for (std::int64_t i = 0; i < d; ++i)
      identity[static_cast<std::size_t>(i * d + i)] = 1;
    Vector<float> workspace;
    for (const bool forward_first : {true, false}) {
      const Matrix<float> w = test::to_matrix(identity, d, d);
      apply_low_rank(w, whitening.basis, forward_first ? whitening.forward : whitening.inverse, workspace);
      EXPECT_NE(values_of(w), identity);
      apply_low_rank(w, whitening.basis, forward_first ? whitening.inverse : whitening.forward, workspace);
      const std::vector<float> result = values_of(w);
      float worst = 0;
      for (std::size_t i = 0; i < result.size(); ++i)
        worst = std::max(worst, std::abs(result[i] - identity[i]));
      EXPECT_LE(worst, 1e-5f);
    }
  }
}

TEST(LowRankWhitening, NothingSeenIsTheIdentity) {
  const LowRankFactor none{Matrix<float>("basis", 12, 0), {}, 0, 12};
  const LowRankWhitening whitening = make_low_rank_whitening(none, WhiteningOptions());
  EXPECT_TRUE(whitening.is_identity);
  const Matrix<float> w = test::gaussian_matrix<float>(3, 12, 1);
  const std::vector<float> before = values_of(w);
  Vector<float> workspace;
  apply_low_rank(w, whitening.basis, whitening.forward, workspace);
  EXPECT_EQ(values_of(w), before);
  EXPECT_EQ(gamma(gamma_low_rank(w, whitening, workspace)), 1);
}

TEST(LowRankWhitening, RefusesBadOptionsAndFactors) {
  const LowRankFactor factor = factor_of(10, {5, 2}, 3);
  for (const double exponent : {0.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(make_low_rank_whitening(factor, options_of(exponent, Completion::tail, 0)), RuntimeError);
  EXPECT_THROW(make_low_rank_whitening(factor, options_of(0.5, Completion::tail, -1)), RuntimeError);
  WhiteningOptions options;
  options.condition_cap = 0.5;
  EXPECT_THROW(make_low_rank_whitening(factor, options), RuntimeError);
  LowRankFactor broken = factor;
  broken.eigenvalues[1] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(make_low_rank_whitening(broken, WhiteningOptions()), RuntimeError);
  Vector<float> workspace;
  EXPECT_THROW(apply_low_rank(Matrix<float>("w", 3, 11), factor.basis, Vector<float>("gain", 2), workspace),
               RuntimeError);
}

TEST(Gamma, LowRankFormMatchesTheDefinition) {
  const std::int64_t m = 21, d = 33;
  const LowRankWhitening whitening =
      make_low_rank_whitening(factor_of(d, {80, 30, 10}, 30), options_of(0.5, Completion::tail, 1e-3));
  const Matrix<float> w = test::gaussian_matrix<float>(m, d, 4);
  const Values basis = to_double(values_of(whitening.basis));
  const double expected = reference::gamma(
      to_double(values_of(w)),
      reference::low_rank_transform(basis, to_double(values_of(whitening.forward)), d),
      reference::low_rank_transform(basis, to_double(values_of(whitening.inverse)), d), m, d);
  Vector<float> workspace;
  const GammaTerms terms = gamma_low_rank(w, whitening, workspace);
  EXPECT_NEAR(gamma(terms), expected, 1e-5 * expected);

  // Row slices add.
  const GammaTerms upper = gamma_low_rank(slice(flatten(w), 0, 10, d), whitening, workspace);
  const GammaTerms lower = gamma_low_rank(slice(flatten(w), 10 * d, m - 10, d), whitening, workspace);
  EXPECT_NEAR(upper.numerator + lower.numerator, terms.numerator, 1e-6 * terms.numerator);
  EXPECT_NEAR(upper.norm_squared + lower.norm_squared, terms.norm_squared, 1e-12 * terms.norm_squared);
}

TEST(Gamma, OfZeroIsOne) {
  const LowRankWhitening whitening = make_low_rank_whitening(factor_of(8, {5, 2}, 3), WhiteningOptions());
  Vector<float> workspace;
  EXPECT_EQ(gamma(gamma_low_rank(Matrix<float>("w", 4, 8), whitening, workspace)), 1);
  EXPECT_EQ(gamma_lower_bound(Matrix<float>("w", 4, 8)), 1);
}

TEST(Gamma, LowerBoundOfKnownMatrices) {
  // Rank one: ||W||_* = ||W||_F. Identity: all singular values equal, no coordinates help.
  const Values left = to_double(test::gaussian<float>(9, 1)), right = to_double(test::gaussian<float>(16, 2));
  const Values outer = reference::product(left, right, 9, 1, 16);
  EXPECT_NEAR(gamma_lower_bound(test::to_matrix(std::vector<float>(outer.begin(), outer.end()), 9, 16)), 0.25,
              1e-3);
  std::vector<float> identity(64, 0.0f);
  for (std::size_t i = 0; i < 8; ++i)
    identity[i * 9] = 3;
  EXPECT_NEAR(gamma_lower_bound(test::to_matrix(identity, 8, 8)), 1, 1e-6);
}

}  // namespace
}  // namespace minigift
