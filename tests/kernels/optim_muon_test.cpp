// Newton-Schulz by the bands in which its singular values must end, and Muon against the serial oracle.

#include "kernels/error.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"
#include "kernels/optim/muon.hpp"
#include "kernels/reference/muon.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace minigift {
namespace {

using test::to_double;
using test::values_of;

/// Ascending, from the smaller Gram matrix in FP64.
template <class S>
std::vector<double> singular_values(const Matrix<S>& a) {
  const std::int64_t m = extent(a, 0), n = extent(a, 1), p = std::min(m, n);
  const std::vector<double> values = to_double(values_of(a));
  const Matrix<double> wide = test::to_matrix(values, m, n);
  const Matrix<double> gram("gram", static_cast<std::size_t>(p), static_cast<std::size_t>(p));
  gemm<double, double>(m <= n ? Transpose::no : Transpose::yes, m <= n ? Transpose::yes : Transpose::no, 1.0,
                       wide, wide, 0.0, gram);
  const Vector<double> lambda("lambda", static_cast<std::size_t>(p));
  symmetric_eigen(gram, lambda);
  std::vector<double> roots = values_of(lambda);
  for (double& value : roots)
    value = std::sqrt(std::max(value, 0.0));
  return roots;
}

template <class S>
Matrix<S> orthogonalised(const Matrix<S>& b, const std::vector<Coefficients<float>>& coefficients,
                         Products products = Products::full) {
  const Matrix<S> result = test::clone(b);
  std::vector<Coefficients<S>> converted;
  for (const auto& [x, y, z] : coefficients)
    converted.push_back({x, y, z});
  NewtonSchulzWorkspace<S> workspace;
  newton_schulz<S>(result, converted, S(1e-7), workspace, products);
  return result;
}

/// values <- multiplier values. Not in a test's body, where nvcc takes no device lambda.
template <class S>
void multiply(const Vector<S>& values, S multiplier) {
  Kokkos::parallel_for(
      "minigift::test_scale", Range(0, size(values)),
      KOKKOS_LAMBDA(const std::int64_t i) { values(i) *= multiplier; });
}

template <class S>
double relative_difference(const Matrix<S>& a, const Matrix<S>& b) {
  const std::vector<double> x = to_double(values_of(a)), y = to_double(values_of(b));
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return std::sqrt(difference / norm);
}

template <class S>
class NewtonSchulz : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NewtonSchulz, Scalars);

/// The simple coefficients do not converge to 1, by design.
TYPED_TEST(NewtonSchulz, SingularValueBandsOfAWideGaussian) {
  using S = TypeParam;
  const Matrix<S> b = test::gaussian_matrix<S>(256, 1024, 1);
  const std::vector<double> simple = singular_values(orthogonalised(b, simple_coefficients()));
  EXPECT_GE(simple.front(), 0.67);
  EXPECT_LE(simple.back(), 1.14);
  EXPECT_LE(simple.front(), 0.80);  // it really spreads
  EXPECT_NEAR(simple[128], 0.96, 0.1);
  const std::vector<double> quintic = singular_values(orthogonalised(b, quintic_coefficients()));
  EXPECT_GE(quintic.front(), 0.975);
  EXPECT_LE(quintic.back(), 1.035);
}

TYPED_TEST(NewtonSchulz, TallIsTheTransposeOfWide) {
  using S = TypeParam;
  const std::int64_t m = 45, n = 130;
  const std::vector<S> values = test::gaussian<S>(m * n, 2);
  std::vector<S> transposed(values.size());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      transposed[static_cast<std::size_t>(j * m + i)] = values[static_cast<std::size_t>(i * n + j)];
  const std::vector<S> wide = values_of(orthogonalised(test::to_matrix(values, m, n), simple_coefficients()));
  const std::vector<S> tall =
      values_of(orthogonalised(test::to_matrix(transposed, n, m), simple_coefficients()));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      EXPECT_NEAR(tall[static_cast<std::size_t>(j * m + i)], wide[static_cast<std::size_t>(i * n + j)],
                  1e3 * std::numeric_limits<S>::epsilon());
}

TYPED_TEST(NewtonSchulz, MatchesTheSerialIteration) {
  using S = TypeParam;
  for (const auto& [m, n] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 9}, {9, 1}, {17, 33}, {40, 40}, {65, 31}}) {
    const Matrix<S> b = test::gaussian_matrix<S>(m, n, 3);
    for (const auto& coefficients : {simple_coefficients(), quintic_coefficients(7)}) {
      const std::vector<double> expected =
          reference::newton_schulz(to_double(values_of(b)), m, n, coefficients, static_cast<double>(S(1e-7)));
      const std::vector<S> actual = values_of(orthogonalised(b, coefficients));
      // Each step multiplies the rounding by at most its slope at zero, about 4; seven steps give 4^7.
      const double bound = 4e3 * std::numeric_limits<S>::epsilon();
      for (std::size_t i = 0; i < actual.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], bound) << m << " x " << n;
    }
  }
}

TYPED_TEST(NewtonSchulz, IgnoresPositiveScale) {
  using S = TypeParam;
  const Matrix<S> b = test::gaussian_matrix<S>(48, 100, 4);
  const Matrix<S> result = orthogonalised(b, simple_coefficients());
  for (const double factor : {1024.0, 0.25, 1e-3, 1e8}) {
    const Matrix<S> scaled = test::clone(b);
    multiply(flatten(scaled), static_cast<S>(factor));
    // epsilon = 1e-7 against a norm of 69 and more, or 0.069 for the smallest factor.
    EXPECT_LE(relative_difference(orthogonalised(scaled, simple_coefficients()), result), 1e-4);
  }
}

TYPED_TEST(NewtonSchulz, ZeroStaysZeroAndNullDirectionsStayNull) {
  using S = TypeParam;
  for (const S value : values_of(orthogonalised(Matrix<S>("zero", 20, 30), simple_coefficients())))
    EXPECT_EQ(value, 0);
  // Rank 3 of 20.
  const std::vector<double> product = reference::product(to_double(test::gaussian<S>(20 * 3, 1)),
                                                         to_double(test::gaussian<S>(3 * 50, 2)), 20, 3, 50);
  const std::vector<double> values = singular_values(orthogonalised(
      test::to_matrix(std::vector<S>(product.begin(), product.end()), 20, 50), quintic_coefficients()));
  EXPECT_LE(values[16], 1e-3);  // rounding, grown by the slope at zero (350 over five steps)
  EXPECT_GE(values[17], 0.97);
  EXPECT_LE(values[19], 1.15);
}

TEST(NewtonSchulzBfloat16, StaysNearTheFullIteration) {
  const Matrix<float> b = test::gaussian_matrix<float>(128, 384, 1);
  const Matrix<float> full = orthogonalised(b, simple_coefficients());
  const Matrix<float> narrow = orthogonalised(b, simple_coefficients(), Products::bfloat16);
  const double difference = relative_difference(narrow, full);
  EXPECT_LE(difference, 0.03);
  EXPECT_GE(difference, 1e-4);  // bfloat16 products really ran
  const std::vector<double> values = singular_values(narrow);
  EXPECT_GE(values.front(), 0.64);
  EXPECT_LE(values.back(), 1.17);
  NewtonSchulzWorkspace<double> workspace;
  EXPECT_THROW(newton_schulz<double>(Matrix<double>("b", 2, 3), {}, 1e-7, workspace, Products::bfloat16),
               RuntimeError);
}

TEST(NewtonSchulzFlop, CountsTheSmallerGram) {
  EXPECT_EQ(newton_schulz_flop(2, 3, 5), 5 * (4 * 4 * 3 + 2 * 8));
  EXPECT_EQ(newton_schulz_flop(3, 2, 5), newton_schulz_flop(2, 3, 5));
}

TYPED_TEST(NewtonSchulz, MuonFollowsTheOracle) {
  using S = TypeParam;
  std::vector<MuonOptions> variants;
  for (const char* preset : {"moonlight", "megatron"})
    for (const bool nesterov : {false, true})
      for (const UpdateScale scale : {UpdateScale::shape, UpdateScale::spectral, UpdateScale::unit_rms}) {
        variants.push_back(muon_preset(preset));
        variants.back().nesterov = nesterov;
        variants.back().scale = scale;
      }
  for (const MuonOptions& options : variants)
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{24, 40}, {50, 16}}) {
      const Matrix<S> weight = test::gaussian_matrix<S>(m, n, 5);
      const Matrix<S> momentum("momentum", weight.extent(0), weight.extent(1));
      reference::MuonState expected{to_double(values_of(weight)), std::vector<double>(weight.size(), 0.0)};
      MuonWorkspace<S> workspace;
      for (std::uint64_t step = 1; step <= 3; ++step) {
        const std::vector<S> gradient = test::gaussian<S>(m * n, 20 + step);
        muon_step<S>(weight, test::to_matrix(gradient, m, n), momentum, S(0.02), S(0.5), options, workspace);
        reference::muon_step(expected, to_double(gradient), m, n, static_cast<double>(S(0.02)), 0.5, options);
      }
      const double bound = 2e3 * std::numeric_limits<S>::epsilon();
      const std::vector<S> w = values_of(weight), moments = values_of(momentum);
      for (std::size_t i = 0; i < w.size(); ++i) {
        ASSERT_NEAR(w[i], expected.weight[i], bound * (1 + std::abs(expected.weight[i])));
        ASSERT_NEAR(moments[i], expected.momentum[i], bound);
      }
    }
}

/// A moving average and a sum of gradients differ by a factor, which the iteration ignores.
TYPED_TEST(NewtonSchulz, MomentumFormsAgree) {
  using S = TypeParam;
  Matrix<S> results[2];
  for (const bool ema : {false, true}) {
    MuonOptions options;
    options.ema_momentum = ema;
    const Matrix<S> weight = test::gaussian_matrix<S>(30, 20, 5), momentum("momentum", 30, 20);
    MuonWorkspace<S> workspace;
    for (std::uint64_t step = 1; step <= 3; ++step)
      muon_step<S>(weight, test::gaussian_matrix<S>(30, 20, step), momentum, S(0.1), S(1), options,
                   workspace);
    results[ema ? 1 : 0] = weight;
  }
  EXPECT_LE(relative_difference(results[0], results[1]), 1e-4);
}

/// Root mean square of the update, per scale mode, on matrices of full rank; quintic coefficients end near 1.
TEST(Muon, UpdateSizePerScaleMode) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{64, 256}, {256, 64}}) {
    const double rows = static_cast<double>(m), columns = static_cast<double>(n),
                 larger = std::max(rows, columns);
    const auto size_of_update = [&](UpdateScale scale, float extra) {
      MuonOptions options = muon_preset("megatron");
      options.scale = scale;
      options.extra_scale = extra;
      options.weight_decay = 0;
      const Matrix<float> weight("weight", static_cast<std::size_t>(m), static_cast<std::size_t>(n));
      const Matrix<float> momentum("momentum", weight.extent(0), weight.extent(1));
      MuonWorkspace<float> workspace;
      muon_step<float>(weight, test::gaussian_matrix<float>(m, n, 3), momentum, 1.0f, 1.0f, options,
                       workspace);
      return std::sqrt(sum_of_squares<float>(flatten(weight)) / (rows * columns));
    };
    EXPECT_NEAR(size_of_update(UpdateScale::spectral, 1.0f), 1, 0.03);
    EXPECT_NEAR(size_of_update(UpdateScale::spectral, 0.2f), 0.2, 0.006);
    EXPECT_NEAR(size_of_update(UpdateScale::shape, 1.0f) * std::sqrt(columns), 1, 0.03);
    EXPECT_NEAR(size_of_update(UpdateScale::unit_rms, 1.0f) * std::sqrt(larger * columns / rows), 1, 0.03);
  }
}

TEST(Muon, Presets) {
  const MuonOptions moonlight = muon_preset("moonlight"), megatron = muon_preset("megatron");
  EXPECT_EQ(moonlight.coefficients, simple_coefficients(5));
  EXPECT_EQ(megatron.coefficients, quintic_coefficients(5));
  EXPECT_DOUBLE_EQ(update_scale(moonlight, 100, 400), 20 * static_cast<double>(0.2f));
  EXPECT_DOUBLE_EQ(update_scale(megatron, 100, 400), 20);
  EXPECT_THROW(muon_preset("moonshot"), UsageError);
  EXPECT_EQ(quintic_coefficients(7)[5], quintic_coefficients(5)[0]);
}

TEST(Muon, RefusesWhatDoesNotFit) {
  MuonWorkspace<float> workspace;
  EXPECT_THROW(muon_step<float>(Matrix<float>("w", 3, 4), Matrix<float>("g", 4, 3), Matrix<float>("m", 3, 4),
                                1.0f, 1.0f, MuonOptions(), workspace),
               RuntimeError);
}

}  // namespace
}  // namespace minigift
