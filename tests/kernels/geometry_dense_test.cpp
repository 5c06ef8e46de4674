// Full, block and diagonal whitening of either side.

#include "kernels/error.hpp"
#include "kernels/geometry/dense.hpp"
#include "kernels/geometry/gamma.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/workspace.hpp"
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

std::size_t at(std::int64_t i, std::int64_t j, std::int64_t columns) {
  return static_cast<std::size_t>(i * columns + j);
}

/// The moment of correlated tokens whose coordinates differ in size.
Matrix<double> moment_of(std::int64_t d, std::uint64_t seed) {
  const Values z = to_double(test::gaussian<float>(4 * d * d, seed)),
               mix = to_double(test::gaussian<float>(d * d, 9));
  const Values x = reference::product(z, mix, 4 * d, d, d);
  std::vector<float> values(x.begin(), x.end());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] /= static_cast<float>(1 + i % static_cast<std::size_t>(d) % 7);
  return second_moment(test::to_matrix(values, 4 * d, d));
}

WhiteningOptions options_of(double exponent, double damping) {
  WhiteningOptions options;
  options.exponent = exponent;
  options.damping = damping;
  return options;
}

/// T or T^{-1} as a dense matrix, by applying it to the identity.
Values dense(const DenseWhitening& whitening, Direction direction) {
  const std::int64_t d = whitening.dimension;
  std::vector<float> identity(static_cast<std::size_t>(d * d), 0.0f);
  for (std::int64_t i = 0; i < d; ++i)
    identity[at(i, i, d)] = 1;
  const Matrix<float> w = test::to_matrix(identity, d, d);
  Vector<float> workspace;
  apply_input(w, whitening, direction, workspace);
  return to_double(values_of(w));
}

struct NamedWhitening {
  const char* name;
  DenseWhitening whitening;
};
/// d = 20: blocks of 8 leave a narrower last one.
std::vector<NamedWhitening> all_forms(const Matrix<const double>& a, double exponent, double damping) {
  const WhiteningOptions options = options_of(exponent, damping);
  std::vector<NamedWhitening> forms = {{"full", make_full_whitening(a, options)},
                                       {"block 8", make_block_whitening(a, 8, options)},
                                       {"block 1", make_block_whitening(a, 1, options)},
                                       {"block over d", make_block_whitening(a, 64, options)},
                                       {"diagonal", make_diagonal_whitening(a, options)}};
  if (exponent == 0.5) {
    forms.push_back({"full Cholesky", make_full_whitening(a, options, Root::cholesky)});
    forms.push_back({"block 8 Cholesky", make_block_whitening(a, 8, options, Root::cholesky)});
  }
  return forms;
}

TEST(DenseWhitening, InverseUndoesTheTransform) {
  const std::int64_t d = 20;
  const Matrix<double> a = moment_of(d, 1);
  for (const double exponent : {0.25, 0.5})
    for (const auto& [name, whitening] : all_forms(a, exponent, 1e-2)) {
      SCOPED_TRACE(name);
      EXPECT_FALSE(whitening.is_identity);
      const Values product = reference::product(dense(whitening, Direction::forward),
                                                dense(whitening, Direction::inverse), d, d, d);
      for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j)
          EXPECT_NEAR(product[at(i, j, d)], i == j ? 1 : 0, 1e-5);
    }
}

/// T^T A_damped T is a multiple of the identity for the square roots: that is what whitening means.
TEST(DenseWhitening, SquareRootsWhiten) {
  const std::int64_t d = 20;
  const double damping = 1e-2;
  const Matrix<double> a = moment_of(d, 1);
  const Values moment = values_of(a);
  double mean = 0;
  for (std::int64_t i = 0; i < d; ++i)
    mean += moment[at(i, i, d)] / static_cast<double>(d);
  for (const Root root : {Root::symmetric, Root::cholesky}) {
    for (const std::int64_t width : {d, std::int64_t{8}, std::int64_t{1}}) {
      Values damped(moment.size(), 0.0);  // the diagonal blocks, with damping
      for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j)
          if (i / width == j / width)
            damped[at(i, j, d)] = moment[at(i, j, d)] + (i == j ? damping * mean : 0);
      const Values t =
          dense(make_block_whitening(a, width, options_of(0.5, damping), root), Direction::forward);
      Values transposed(t.size());
      for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j)
          transposed[at(j, i, d)] = t[at(i, j, d)];
      const Values white = reference::product(reference::product(transposed, damped, d, d, d), t, d, d, d);
      for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j)
          EXPECT_NEAR(white[at(i, j, d)] / white[0], i == j ? 1 : 0, 2e-4) << "width " << width;
    }
  }
}

/// det T = 1: the logarithms of the eigenvalues of a symmetric T sum to zero.
TEST(DenseWhitening, HasUnitDeterminant) {
  const Matrix<double> a = moment_of(20, 1);
  const Matrix<double> t =
      test::to_matrix(dense(make_full_whitening(a, options_of(0.25, 1e-3)), Direction::forward), 20, 20);
  const Vector<double> lambda("lambda", 20);
  symmetric_eigen(t, lambda);
  double log_determinant = 0;
  for (const double value : values_of(lambda))
    log_determinant += std::log(value);
  EXPECT_NEAR(log_determinant, 0, 1e-4);
}

TEST(DenseWhitening, DiagonalFormIsBlockFormOfWidthOne) {
  const Matrix<double> a = moment_of(20, 1);
  const Values diagonal = dense(make_diagonal_whitening(a, options_of(0.5, 1e-3)), Direction::forward);
  const Values block = dense(make_block_whitening(a, 1, options_of(0.5, 1e-3)), Direction::forward);
  for (std::size_t i = 0; i < diagonal.size(); ++i)
    EXPECT_NEAR(diagonal[i], block[i], 1e-6 * std::abs(block[i]));
}

TEST(DenseWhitening, OutputSideMultipliesFromTheLeft) {
  const std::int64_t d = 20, n = 13;
  const Matrix<double> g = moment_of(d, 2);
  for (const auto& [name, whitening] : all_forms(g, 0.5, 1e-2)) {
    SCOPED_TRACE(name);
    const Matrix<float> w = test::gaussian_matrix<float>(d, n, 5);
    const Values before = to_double(values_of(w)), t = dense(whitening, Direction::forward);
    Values transposed(t.size());
    for (std::int64_t i = 0; i < d; ++i)
      for (std::int64_t j = 0; j < d; ++j)
        transposed[at(j, i, d)] = t[at(i, j, d)];
    const Values expected = reference::product(transposed, before, d, d, n);
    Vector<float> workspace;
    apply_output(w, whitening, Direction::forward, workspace);
    const std::vector<float> after = values_of(w);
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_NEAR(after[i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
    apply_output(w, whitening, Direction::inverse, workspace);
    const std::vector<float> back = values_of(w);
    for (std::size_t i = 0; i < back.size(); ++i)
      EXPECT_NEAR(back[i], before[i], 2e-5);
  }
}

TEST(DenseWhitening, ConditionIsCapped) {
  const std::int64_t d = 6;
  std::vector<double> values(static_cast<std::size_t>(d * d), 0.0);
  for (std::int64_t i = 0; i < d; ++i)
    values[at(i, i, d)] = std::pow(10.0, -static_cast<double>(2 * i));
  const Matrix<double> a = test::to_matrix(values, d, d);
  WhiteningOptions options = options_of(0.5, 0);
  options.condition_cap = 10;
  for (const DenseWhitening& whitening :
       {make_full_whitening(a, options), make_diagonal_whitening(a, options)}) {
    const Values t = dense(whitening, Direction::forward);
    EXPECT_NEAR(t[at(d - 1, d - 1, d)] / t[0], 10, 1e-3);
  }
}

TEST(DenseWhitening, ZeroMomentIsTheIdentity) {
  const Matrix<double> zero("zero", 9, 9);
  for (const DenseWhitening& whitening :
       {make_full_whitening(zero, WhiteningOptions()), make_block_whitening(zero, 4, WhiteningOptions()),
        make_diagonal_whitening(zero, WhiteningOptions())}) {
    EXPECT_TRUE(whitening.is_identity);
    const Matrix<float> w = test::gaussian_matrix<float>(4, 9, 5);
    const std::vector<float> before = values_of(w);
    Vector<float> workspace;
    apply_input(w, whitening, Direction::forward, workspace);
    EXPECT_EQ(values_of(w), before);
    EXPECT_NEAR(gamma(gamma_input(w, whitening)), 1, 1e-12);
  }
}

TEST(DenseWhitening, RefusesBadMoments) {
  std::vector<double> values(9, 0.0);
  values[0] = values[4] = values[8] = 1;
  values[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(make_full_whitening(test::to_matrix(values, 3, 3), WhiteningOptions()), RuntimeError);
  values[5] = 0.5;  // and (2, 1) is zero
  EXPECT_THROW(make_full_whitening(test::to_matrix(values, 3, 3), WhiteningOptions()), RuntimeError);
  EXPECT_THROW(make_diagonal_whitening(Matrix<double>("a", 2, 3), WhiteningOptions()), RuntimeError);
  const Matrix<double> a = moment_of(5, 1);
  EXPECT_THROW(make_full_whitening(a, options_of(0.25, 0), Root::cholesky), RuntimeError);
  EXPECT_THROW(make_block_whitening(a, 0, options_of(0.25, 0)), RuntimeError);
  Vector<float> workspace;
  EXPECT_THROW(apply_input(Matrix<float>("w", 5, 4), make_full_whitening(a, WhiteningOptions()),
                           Direction::forward, workspace),
               RuntimeError);
}

TEST(Gamma, DenseFormsMatchTheDefinition) {
  const std::int64_t m = 11, d = 20;
  const Matrix<double> a = moment_of(d, 1);
  const Matrix<float> w = test::gaussian_matrix<float>(m, d, 4);
  for (const auto& [name, whitening] : all_forms(a, 0.5, 1e-2)) {
    SCOPED_TRACE(name);
    const Values t = dense(whitening, Direction::forward), inverse = dense(whitening, Direction::inverse);
    const double expected = reference::gamma(to_double(values_of(w)), t, inverse, m, d);
    EXPECT_NEAR(gamma(gamma_input(w, whitening)), expected, 1e-5 * expected);
    const auto narrow = [&](const Values& values) {
      return test::to_matrix(std::vector<float>(values.begin(), values.end()), d, d);
    };
    EXPECT_NEAR(gamma(gamma_dense(w, narrow(t), narrow(inverse))), expected, 1e-5 * expected);
    EXPECT_NEAR(gamma(gamma_two_sided(w, identity_whitening(m), whitening)), expected, 1e-5 * expected);
  }
}

/// Output side: gamma of W under T equals gamma of W^T under T on the input side.
TEST(Gamma, OutputSideIsInputSideOfTheTranspose) {
  const std::int64_t d = 20, n = 9;
  const DenseWhitening whitening = make_full_whitening(moment_of(d, 1), options_of(0.25, 1e-2));
  const Matrix<float> w = test::gaussian_matrix<float>(d, n, 4);
  const std::vector<float> values = values_of(w);
  std::vector<float> transposed(values.size());
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      transposed[at(j, i, d)] = values[at(i, j, n)];
  const double input = gamma(gamma_input(test::to_matrix(transposed, n, d), whitening));
  EXPECT_NEAR(gamma(gamma_two_sided(w, whitening, identity_whitening(n))), input, 1e-5 * input);
}

/// A diagonal or an orthogonal T changes nothing.
TEST(Gamma, IsOneForDiagonalAndOrthogonalTransforms) {
  const std::int64_t m = 30, d = 40;
  const Matrix<float> w = test::gaussian_matrix<float>(m, d, 4);
  EXPECT_NEAR(gamma(gamma_input(w, make_diagonal_whitening(moment_of(d, 1), options_of(0.5, 1e-3)))), 1,
              1e-5);
  const Matrix<float> q = test::gaussian_matrix<float>(d, d, 6);
  thin_qr(q, Matrix<float>("r", 40, 40));
  const std::vector<float> values = values_of(q);
  std::vector<float> transposed(values.size());
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < d; ++j)
      transposed[at(j, i, d)] = values[at(i, j, d)];
  EXPECT_NEAR(gamma(gamma_dense(w, q, test::to_matrix(transposed, d, d))), 1, 1e-5);
}

}  // namespace
}  // namespace minigift
