// Whitening from a spectrum: the same transforms as from dense matrices, never formed.

#include "kernels/error.hpp"
#include "kernels/geometry/gamma.hpp"
#include "kernels/geometry/spectrum.hpp"
#include "kernels/linalg/gemm.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace minigift {
namespace {

using test::values_of;

/// The moment of tokens whose spectrum falls like 1 / (1 + i), in a basis that is not aligned with the axes.
Matrix<double> moment_of(std::int64_t d, std::uint64_t seed) {
  const std::int64_t tokens = 3 * d;
  const Matrix<float> z = test::gaussian_matrix<float>(tokens, d, seed);
  const Matrix<float> mix = test::gaussian_matrix<float>(d, d, seed + 1000);
  std::vector<float> scaled = values_of(mix);
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < d; ++j)
      scaled[static_cast<std::size_t>(i * d + j)] /= static_cast<float>(1 + i);
  const Matrix<float> x("x", static_cast<std::size_t>(tokens), static_cast<std::size_t>(d));
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, z, test::to_matrix(scaled, d, d), 0.0f, x);
  return second_moment(x);
}

WhiteningOptions options_of(double exponent, double damping, double cap = 1e3) {
  WhiteningOptions options;
  options.exponent = exponent;
  options.damping = damping;
  options.condition_cap = cap;
  return options;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, static_cast<double>(std::abs(a[i] - b[i])));
  return largest;
}
double largest_magnitude(const std::vector<float>& a) {
  return largest_difference(a, std::vector<float>(a.size(), 0.0f));
}

struct Case {
  std::int64_t d;
  WhiteningOptions options;
};
std::vector<Case> cases() {
  WhiteningOptions absolute = options_of(0.5, 0.02);
  absolute.absolute_damping = true;
  return {{1, options_of(0.25, 1e-3)},    {2, options_of(0.5, 1e-2)}, {37, options_of(0.25, 1e-3)},
          {96, options_of(0.375, 1e-2)},  {96, options_of(0.5, 0.1)}, {96, absolute},
          {97, options_of(0.5, 0.0, 5)},     // the cap sets the damping
          {64, options_of(0.25, 1e-3, 1)}};  // and leaves nothing of the transform
}

TEST(Spectrum, DecomposesTheMoment) {
  const std::int64_t d = 61;
  const Matrix<double> a = moment_of(d, 1);
  const Spectrum spectrum = spectrum_of(a);
  ASSERT_EQ(spectrum.dimension(), d);
  EXPECT_TRUE(std::is_sorted(spectrum.values.begin(), spectrum.values.end()));
  const std::vector<double> moment = values_of(a);
  const std::vector<float> v = values_of(spectrum.vectors);
  double trace = 0, sum = 0;
  for (std::int64_t i = 0; i < d; ++i) {
    trace += moment[static_cast<std::size_t>(i * d + i)];
    sum += spectrum.values[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < d; ++j) {
      double entry = 0;
      for (std::int64_t k = 0; k < d; ++k)
        entry += static_cast<double>(v[static_cast<std::size_t>(i * d + k)]) *
                 static_cast<double>(v[static_cast<std::size_t>(j * d + k)]) *
                 spectrum.values[static_cast<std::size_t>(k)];
      EXPECT_NEAR(entry, moment[static_cast<std::size_t>(i * d + j)], 1e-6 * spectrum.values.back());
    }
  }
  EXPECT_NEAR(spectrum.trace, trace, 1e-12 * trace);
  EXPECT_NEAR(sum, trace, 1e-10 * trace);
}

TEST(Spectrum, GivesTheFactorsOfEveryRank) {
  const Matrix<double> a = moment_of(48, 2);
  const Spectrum spectrum = spectrum_of(a);
  for (const std::int64_t rank : {1, 8, 48, 100}) {
    const LowRankFactor shared = exact_factor(spectrum, rank), own = exact_factor(a, rank);
    EXPECT_EQ(shared.eigenvalues, own.eigenvalues);
    EXPECT_EQ(values_of(shared.basis), values_of(own.basis));
    EXPECT_EQ(extent(shared.basis, 1), std::min<std::int64_t>(rank, 48));
    EXPECT_EQ(shared.dimension, 48);
    EXPECT_EQ(shared.trace, spectrum.trace);
  }
  EXPECT_THROW(exact_factor(spectrum, 0), RuntimeError);
}

/// The eigensolver in FP32 serves whitenings with a usual damping as well as the one in FP64.
TEST(Spectrum, NarrowPrecisionSuffices) {
  const std::int64_t m = 40, d = 96;
  const Matrix<double> a = moment_of(d, 3);
  const Spectrum wide = spectrum_of(a), narrow = spectrum_of(a, EigenPrecision::fp32);
  EXPECT_EQ(narrow.trace, wide.trace);
  for (std::size_t i = 0; i < wide.values.size(); ++i)
    EXPECT_NEAR(narrow.values[i], wide.values[i], 1e-6 * wide.values.back());
  const Matrix<float> w = test::gaussian_matrix<float>(m, d, 10);
  Vector<float> workspace;
  for (const WhiteningOptions& options : {options_of(0.25, 1e-3), options_of(0.5, 0.1)}) {
    const SpectralWhitening of_wide = make_spectral_whitening(wide, options),
                            of_narrow = make_spectral_whitening(narrow, options);
    const double expected = gamma(gamma_input(w, of_wide, workspace));
    EXPECT_NEAR(gamma(gamma_input(w, of_narrow, workspace)), expected, 5e-4 * expected);
    const Matrix<float> back = test::clone(w);
    apply_input(back, of_narrow, Direction::forward, workspace);
    apply_input(back, of_narrow, Direction::inverse, workspace);
    EXPECT_LE(largest_difference(values_of(back), values_of(w)), 1e-5 * largest_magnitude(values_of(w)));
  }
  const LowRankFactor of_wide = exact_factor(wide, 4), of_narrow = exact_factor(narrow, 4);
  EXPECT_LE(largest_difference(values_of(of_wide.basis), values_of(of_narrow.basis)), 1e-4);
}

TEST(SpectralWhitening, AgreesWithTheDenseFormOnBothSides) {
  for (const auto& [d, options] : cases()) {
    SCOPED_TRACE(fmt::format("d {} exponent {} damping {}", d, options.exponent, options.damping));
    const Matrix<double> a = moment_of(d, 3);
    const DenseWhitening dense = make_full_whitening(a, options);
    const SpectralWhitening spectral = make_spectral_whitening(spectrum_of(a), options);
    EXPECT_FALSE(spectral.is_identity);
    Vector<float> dense_workspace, workspace;
    for (const Direction direction : {Direction::forward, Direction::inverse}) {
      const Matrix<float> w = test::gaussian_matrix<float>(29, d, 5), expected = test::clone(w);
      apply_input(expected, dense, direction, dense_workspace);
      apply_input(w, spectral, direction, workspace);
      EXPECT_LE(largest_difference(values_of(w), values_of(expected)),
                1e-5 * largest_magnitude(values_of(expected)));
      const Matrix<float> rows = test::gaussian_matrix<float>(d, 31, 6), expected_rows = test::clone(rows);
      apply_output(expected_rows, dense, direction, dense_workspace);
      apply_output(rows, spectral, direction, workspace);
      EXPECT_LE(largest_difference(values_of(rows), values_of(expected_rows)),
                1e-5 * largest_magnitude(values_of(expected_rows)));
    }
  }
}

TEST(SpectralWhitening, HalvesMakeTheWhole) {
  const std::int64_t m = 13, d = 40;
  const Spectrum spectrum = spectrum_of(moment_of(d, 4));
  const Matrix<float> w = test::gaussian_matrix<float>(m, d, 5);
  const Matrix<float> z("z", 13, 40), to("to", 13, 40);
  project_input(w, spectrum.vectors, z);
  const std::vector<float> projected = values_of(z);
  Vector<float> workspace;
  for (const double exponent : {0.25, 0.5})
    for (const Direction direction : {Direction::forward, Direction::inverse}) {
      const SpectralWhitening whitening = make_spectral_whitening(spectrum, options_of(exponent, 1e-2));
      const Matrix<float> expected = test::clone(w);
      apply_input(expected, whitening, direction, workspace);
      apply_to_projection(z, whitening, direction, to, workspace);
      EXPECT_EQ(values_of(to), values_of(expected));
      EXPECT_EQ(values_of(z), projected);
    }
}

TEST(SpectralWhitening, InverseUndoesTheTransform) {
  for (const auto& [d, options] : cases()) {
    SCOPED_TRACE(fmt::format("d {} exponent {} damping {}", d, options.exponent, options.damping));
    const SpectralWhitening whitening = make_spectral_whitening(spectrum_of(moment_of(d, 3)), options);
    const Matrix<float> w = test::gaussian_matrix<float>(24, d, 7);
    const std::vector<float> before = values_of(w);
    Vector<float> workspace;
    apply_input(w, whitening, Direction::forward, workspace);
    apply_input(w, whitening, Direction::inverse, workspace);
    EXPECT_LE(largest_difference(values_of(w), before), 1e-5 * largest_magnitude(before));
    const Matrix<float> rows = test::gaussian_matrix<float>(d, 24, 8);
    const std::vector<float> rows_before = values_of(rows);
    apply_output(rows, whitening, Direction::inverse, workspace);
    apply_output(rows, whitening, Direction::forward, workspace);
    EXPECT_LE(largest_difference(values_of(rows), rows_before), 1e-5 * largest_magnitude(rows_before));
  }
}

TEST(SpectralWhitening, RowNormsAndGammaAgreeWithTheDenseForm) {
  const std::int64_t m = 33, d = 96;
  const Matrix<double> a = moment_of(d, 3), g = moment_of(m, 9);
  const Matrix<float> w = test::gaussian_matrix<float>(m, d, 10);
  const Spectrum input_spectrum = spectrum_of(a), output_spectrum = spectrum_of(g);
  Vector<float> workspace;
  for (const WhiteningOptions& options :
       {options_of(0.25, 1e-3), options_of(0.5, 1e-2), options_of(1.0, 0.1)}) {
    const DenseWhitening dense = make_full_whitening(a, options),
                         dense_output = make_full_whitening(g, options);
    const SpectralWhitening spectral = make_spectral_whitening(input_spectrum, options);
    const SpectralWhitening output = make_spectral_whitening(output_spectrum, options);
    const Vector<double> norms("norms", 96), expected("expected", 96);
    inverse_row_norms(spectral, norms);
    inverse_row_norms(dense, expected);
    const std::vector<double> found = values_of(norms), wanted = values_of(expected);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], wanted[i], 1e-5 * wanted[i]);

    const double one = gamma(gamma_input(w, dense)), two = gamma(gamma_two_sided(w, dense_output, dense));
    EXPECT_NEAR(gamma(gamma_input(w, spectral, workspace)), one, 1e-5 * one);
    EXPECT_NEAR(gamma(gamma_two_sided(w, output, spectral, workspace)), two, 1e-5 * two);
    EXPECT_NEAR(
        gamma(gamma_two_sided(w, make_spectral_whitening(spectrum_of(Matrix<double>("z", 33, 33)), options),
                              spectral, workspace)),
        one, 1e-5 * one);

    // The pieces, for callers that hold the transformed gradient.
    const Matrix<float> u = test::clone(w);
    apply_input(u, spectral, Direction::forward, workspace);
    const double norm = gamma_input(w, dense).norm_squared;
    EXPECT_NEAR(gamma(gamma_transformed(u, norm, Vector<double>(), norms)), one, 1e-5 * one);
    EXPECT_NEAR(gamma(gamma_transformed(w, norm, Vector<double>(), Vector<double>())), 1, 1e-12);
    EXPECT_THROW(gamma_transformed(u, norm, norms, norms), RuntimeError);
  }
  const double left =
      gamma(gamma_two_sided(w, make_full_whitening(g, options_of(0.25, 1e-3)), identity_whitening(d)));
  const SpectralWhitening output = make_spectral_whitening(output_spectrum, options_of(0.25, 1e-3));
  const Matrix<float> u = test::clone(w);
  apply_output(u, output, Direction::forward, workspace);
  const Vector<double> weights("weights", 33);
  inverse_row_norms(output, weights);
  const double norm = gamma_input(w, identity_whitening(d)).norm_squared;
  EXPECT_NEAR(gamma(gamma_transformed(u, norm, weights, Vector<double>())), left, 1e-5 * left);
}

/// det T = 1, and the condition of T is the cap's.
TEST(SpectralWhitening, IsNormalisedAndCapped) {
  const Spectrum spectrum = spectrum_of(moment_of(97, 3));
  for (const double exponent : {0.25, 0.5}) {
    const SpectralWhitening whitening = make_spectral_whitening(spectrum, options_of(exponent, 0, 10));
    double log_determinant = 0, least = std::numeric_limits<double>::infinity(), most = 0;
    for (const double gain : test::to_double(values_of(whitening.forward))) {
      log_determinant += std::log(gain);
      least = std::min(least, gain);
      most = std::max(most, gain);
    }
    EXPECT_NEAR(log_determinant, 0, 1e-4);
    EXPECT_NEAR(most / least, std::pow(100, exponent), 1e-3);
  }
}

TEST(SpectralWhitening, CholeskyRootTakesTheSpectrum) {
  const std::int64_t d = 40;
  const Matrix<double> a = moment_of(d, 3);
  const Spectrum spectrum = spectrum_of(a);
  for (const WhiteningOptions& options : {options_of(0.5, 1e-2), options_of(0.5, 0, 5)}) {
    const DenseWhitening own = make_full_whitening(a, options, Root::cholesky),
                         shared = make_cholesky_whitening(a, spectrum, options);
    EXPECT_LE(largest_difference(values_of(own.transform), values_of(shared.transform)), 1e-6);
    EXPECT_LE(largest_difference(values_of(own.inverse), values_of(shared.inverse)), 1e-6);
  }
  EXPECT_THROW(make_cholesky_whitening(a, spectrum, options_of(0.25, 1e-2)), RuntimeError);
  EXPECT_THROW(make_cholesky_whitening(moment_of(39, 3), spectrum, options_of(0.5, 1e-2)), RuntimeError);
  const Matrix<double> zero("zero", 40, 40);
  EXPECT_TRUE(make_cholesky_whitening(zero, spectrum_of(zero), options_of(0.5, 1e-2)).is_identity);
}

TEST(SpectralWhitening, ZeroMomentIsTheIdentity) {
  const SpectralWhitening whitening =
      make_spectral_whitening(spectrum_of(Matrix<double>("zero", 9, 9)), WhiteningOptions());
  EXPECT_TRUE(whitening.is_identity);
  const Matrix<float> w = test::gaussian_matrix<float>(4, 9, 5), rows = test::gaussian_matrix<float>(9, 4, 5);
  const std::vector<float> before = values_of(w), rows_before = values_of(rows);
  Vector<float> workspace;
  apply_input(w, whitening, Direction::forward, workspace);
  apply_output(rows, whitening, Direction::forward, workspace);
  EXPECT_EQ(values_of(w), before);
  EXPECT_EQ(values_of(rows), rows_before);
  EXPECT_EQ(gamma(gamma_input(w, whitening, workspace)), 1);
  EXPECT_TRUE(exact_factor(spectrum_of(Matrix<double>("zero", 9, 9)), 4).eigenvalues.empty());
}

TEST(SpectralWhitening, RefusesWhatDoesNotFit) {
  std::vector<double> values(9, 0.0);
  values[0] = values[4] = values[8] = 1;
  values[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(spectrum_of(test::to_matrix(values, 3, 3)), RuntimeError);
  values[5] = 0.5;  // and (2, 1) is zero
  EXPECT_THROW(spectrum_of(test::to_matrix(values, 3, 3)), RuntimeError);
  EXPECT_THROW(spectrum_of(Matrix<double>("a", 2, 3)), RuntimeError);
  const Spectrum spectrum = spectrum_of(moment_of(5, 1));
  EXPECT_THROW(make_spectral_whitening(spectrum, options_of(0, 1e-3)), RuntimeError);
  EXPECT_THROW(make_spectral_whitening(spectrum, options_of(0.5, -1)), RuntimeError);
  const SpectralWhitening whitening = make_spectral_whitening(spectrum, WhiteningOptions());
  Vector<float> workspace;
  EXPECT_THROW(apply_input(Matrix<float>("w", 5, 4), whitening, Direction::forward, workspace), RuntimeError);
  EXPECT_THROW(apply_output(Matrix<float>("w", 4, 5), whitening, Direction::forward, workspace),
               RuntimeError);
  EXPECT_THROW(project_input(Matrix<float>("w", 2, 5), spectrum.vectors, Matrix<float>("z", 2, 4)),
               RuntimeError);
  EXPECT_THROW(inverse_row_norms(whitening, Vector<double>("norms", 4)), RuntimeError);
}

}  // namespace
}  // namespace minigift
