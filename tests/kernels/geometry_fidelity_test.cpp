// What coordinates do to the error of an FP8 cast, on the synthetic gradient: Table II of GIFT
// (arXiv:2607.07494) and the theory behind it. Averages over three seeds; E5M2 with one scale per matrix
// unless said otherwise.
//
// The expected values were found with square roots (exponent 1/2), damping 1e-3 of the mean eigenvalue, and
// for low rank the mean of the remaining spectrum as completion. The block rows belong to the Cholesky root,
// which the paper writes; the symmetric root does better and lands on the paper's own numbers.

#include "kernels/geometry/gamma.hpp"
#include "tests/kernels/gradient_generator.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace minigift {
namespace {

using test::GeneratedGradient;
using test::GradientOptions;
using test::relative_error;
using test::round_trip;

constexpr int seeds = 3;
constexpr std::int64_t d_in = 1024;

struct Row {
  double error = 0;            ///< mean over seeds of ||W' - W||_F / ||W||_F
  double predicted = 0;        ///< mean of gamma times the error without a transform
  double worst_deviation = 0;  ///< of error / predicted from 1
  double smallest_gamma_over_bound = 1e9;
};
using Table = std::map<std::string, Row>;

GradientOptions seeded(int seed) {
  GradientOptions options;
  options.layer_seed = static_cast<std::uint64_t>(seed);
  options.token_seed = static_cast<std::uint64_t>(100 + seed);
  return options;
}

WhiteningOptions with(double exponent, Completion completion = Completion::tail, double damping = 1e-3) {
  WhiteningOptions options;
  options.exponent = exponent;
  options.completion = completion;
  options.damping = damping;
  return options;
}

double error_of(const Matrix<float>& w, const LowRankWhitening& whitening, Format format = Format::e5m2) {
  Vector<float> workspace;
  const Matrix<float> u = test::clone(w);
  apply_low_rank(u, whitening.basis, whitening.forward, workspace);
  const Matrix<float> back = round_trip(format, u);
  apply_low_rank(back, whitening.basis, whitening.inverse, workspace);
  return relative_error(back, w);
}

double error_of(const Matrix<float>& w, const DenseWhitening& output, const DenseWhitening& input) {
  Vector<float> workspace;
  const Matrix<float> u = test::clone(w);
  apply_input(u, input, Direction::forward, workspace);
  apply_output(u, output, Direction::forward, workspace);
  const Matrix<float> back = round_trip(Format::e5m2, u);
  apply_input(back, input, Direction::inverse, workspace);
  apply_output(back, output, Direction::inverse, workspace);
  return relative_error(back, w);
}

LowRankFactor leading(const LowRankFactor& factor, std::int64_t rank) {
  const auto columns = static_cast<std::size_t>(rank);
  LowRankFactor part{Matrix<float>("basis", factor.basis.extent(0), columns), factor.eigenvalues,
                     factor.trace, factor.dimension};
  part.eigenvalues.resize(columns);
  Kokkos::deep_copy(part.basis,
                    Kokkos::subview(factor.basis, Kokkos::ALL, std::make_pair(std::size_t{0}, columns)));
  return part;
}

LowRankFactor sketched(const Matrix<float>& inputs, const Matrix<float>& omega, Sketch& sketch) {
  sketch = make_sketch(d_in, extent(omega, 1));
  sketch_accumulate<float>(inputs, omega, sketch);
  return nystrom_factor(sketch, omega, 32);
}

/// A random rotation Q, applied and undone.
double error_of_rotation(const Matrix<float>& w, const Matrix<float>& q) {
  const Matrix<float> u("u", w.extent(0), w.extent(1)), back("back", w.extent(0), w.extent(1));
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, w, q, 0.0f, u);
  gemm<float, float>(Transpose::no, Transpose::yes, 1.0f, round_trip(Format::e5m2, u), q, 0.0f, back);
  return relative_error(back, w);
}

class Fidelity : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (int seed = 1; seed <= seeds; ++seed)
      measure(seed);
  }
  static void add(const std::string& name, double error, double gamma_value, double plain, double bound) {
    Row& row = table[name];
    row.error += error / seeds;
    row.predicted += gamma_value * plain / seeds;
    row.worst_deviation = std::max(row.worst_deviation, std::abs(error / (gamma_value * plain) - 1));
    row.smallest_gamma_over_bound = std::min(row.smallest_gamma_over_bound, gamma_value / bound);
  }
  static void measure(int seed);
  static double error(const std::string& name) { return table.at(name).error; }

  static Table table;
};
Table Fidelity::table;

void Fidelity::measure(int seed) {
  const GeneratedGradient generated = test::generate_gradient(seeded(seed));
  const Matrix<float>& w = generated.gradient;
  const Matrix<double> a = second_moment(generated.inputs), g = second_moment(generated.output_gradients);
  const double bound = gamma_lower_bound(w);
  const double plain = relative_error(round_trip(Format::e5m2, w), w);
  add("none", plain, 1, plain, bound);
  const double plain_e4m3 = relative_error(round_trip(Format::e4m3, w), w);
  add("none e4m3", plain_e4m3, 1, plain_e4m3, bound);

  Vector<float> workspace;
  const auto low_rank = [&](const std::string& name, const LowRankFactor& factor,
                            const WhiteningOptions& options) {
    const LowRankWhitening whitening = make_low_rank_whitening(factor, options);
    add(name, error_of(w, whitening), gamma(gamma_low_rank(w, whitening, workspace)), plain, bound);
  };
  const LowRankFactor exact = exact_factor(a, 32);
  for (const std::int64_t rank : {8, 16, 32}) {
    low_rank(fmt::format("rank {}", rank), leading(exact, rank), with(0.5));
    low_rank(fmt::format("rank {} edge", rank), leading(exact, rank), with(0.5, Completion::edge));
    low_rank(fmt::format("rank {} mean", rank), leading(exact, rank), with(0.5, Completion::mean));
  }
  low_rank("rank 32 quarter", exact, with(0.25));
  const LowRankWhitening rank_32 = make_low_rank_whitening(exact, with(0.5));
  add("rank 32 e4m3", error_of(w, rank_32, Format::e4m3), gamma(gamma_low_rank(w, rank_32, workspace)),
      plain_e4m3, bound);

  Sketch sketch;
  const Matrix<float> omega = sketch_test_matrix(d_in, 40, 7);
  const LowRankFactor cold = sketched(generated.inputs, omega, sketch);
  const LowRankFactor warm = sketched(generated.inputs, sketch_warm_test_matrix(sketch, omega), sketch);
  low_rank("sketch", cold, with(0.5));
  low_rank("warm sketch", warm, with(0.5));
  low_rank("sketch quarter", cold, with(0.25));
  low_rank("warm sketch quarter", warm, with(0.25));

  const DenseWhitening rows = identity_whitening(extent(w, 0)), columns = identity_whitening(d_in);
  const auto input = [&](const std::string& name, const DenseWhitening& whitening) {
    add(name, error_of(w, rows, whitening), gamma(gamma_input(w, whitening)), plain, bound);
  };
  input("diagonal", make_diagonal_whitening(a, with(0.5)));
  for (const std::int64_t width : {32, 128}) {
    input(fmt::format("block {}", width), make_block_whitening(a, width, with(0.5)));
    input(fmt::format("block {} Cholesky", width), make_block_whitening(a, width, with(0.5), Root::cholesky));
  }
  const DenseWhitening full = make_full_whitening(a, with(0.5));
  input("full", full);
  input("full Cholesky", make_full_whitening(a, with(0.5), Root::cholesky));

  const DenseWhitening output = make_full_whitening(g, with(0.5));
  add("output", error_of(w, output, columns), gamma(gamma_two_sided(w, output, columns)), plain, bound);
  add("two-sided", error_of(w, output, full), gamma(gamma_two_sided(w, output, full)), plain, bound);
  // The loss is a mean over tokens, so that gradients at the outputs carry 1 / (batch tokens), here 2^-20.
  const Matrix<double> small = test::clone(g);
  const Vector<double> values = flatten(small);
  Kokkos::parallel_for(
      "minigift::test_scale", Range(0, size(values)),
      KOKKOS_LAMBDA(const std::int64_t i) { values(i) *= 0x1p-40; });
  WhiteningOptions absolute = with(0.5);
  absolute.absolute_damping = true;
  const DenseWhitening damped = make_full_whitening(small, absolute);
  add("output, absolute damping", error_of(w, damped, columns), gamma(gamma_two_sided(w, damped, columns)),
      plain, bound);
  const DenseWhitening scaled = make_full_whitening(small, with(0.5));
  add("output, small gradients", error_of(w, scaled, columns), gamma(gamma_two_sided(w, scaled, columns)),
      plain, bound);

  const Matrix<float> q = test::normal_matrix<float>(d_in, d_in, 77, 9);
  thin_qr(q, Matrix<float>("r", d_in, d_in));
  add("rotation", error_of_rotation(w, q), 1, plain, bound);

  GradientOptions noise = seeded(seed);
  noise.signal = 0;
  const Matrix<float> pure = test::generate_gradient(noise).gradient;
  const double pure_plain = relative_error(round_trip(Format::e5m2, pure), pure);
  add("pure noise", pure_plain, 1, pure_plain, gamma_lower_bound(pure));
  add("pure noise, rank 32", error_of(pure, rank_32), gamma(gamma_low_rank(pure, rank_32, workspace)),
      pure_plain, gamma_lower_bound(pure));
}

TEST_F(Fidelity, ValuesOfTheTable) {
  const std::map<std::string, double> expected = {{"none", 0.0528},
                                                  {"diagonal", 0.0530},
                                                  {"block 32 Cholesky", 0.0365},
                                                  {"rank 8", 0.0200},
                                                  {"block 128 Cholesky", 0.0302},
                                                  {"rank 16", 0.0169},
                                                  {"rank 32", 0.0168},
                                                  {"full", 0.0166},
                                                  {"rank 32 e4m3", 0.0083},
                                                  // With the symmetric root: the paper's own numbers.
                                                  {"block 32", 0.0317},
                                                  {"block 128", 0.0243}};
  for (const auto& [name, value] : expected) {
    EXPECT_NEAR(error(name), value, 0.1 * value) << name;
    RecordProperty(name, fmt::format("{:.5f}", error(name)));
  }
  EXPECT_NEAR(error("none"), 0.0527, 0.0007);
  EXPECT_NEAR(error("none e4m3"), 0.0265, 0.0005);
}

TEST_F(Fidelity, OrderOfTheTable) {
  const std::vector<std::string> falling = {"none", "block 32", "block 128", "rank 8", "rank 16"};
  for (std::size_t i = 1; i < falling.size(); ++i)
    EXPECT_LT(error(falling[i]), 0.95 * error(falling[i - 1])) << falling[i];
  EXPECT_NEAR(error("rank 32"), error("rank 16"), 0.03 * error("rank 16"));
  EXPECT_LE(error("full"), 1.02 * error("rank 32"));
  EXPECT_LT(error("full"), 0.75 * error("full Cholesky"));
  EXPECT_LT(error("two-sided"), error("full"));
  EXPECT_NEAR(error("rank 32 e4m3"), 0.5 * error("rank 32"), 0.02 * error("rank 32"));
}

/// Theory: whitening by A gains nothing where the gradient's own moment is proportional to A.
TEST_F(Fidelity, PureNoiseGainsNothing) {
  EXPECT_NEAR(error("pure noise, rank 32") / error("pure noise"), 1, 0.04);
}

TEST_F(Fidelity, SketchIsAsGoodAsTheExactFactor) {
  EXPECT_NEAR(error("sketch"), error("rank 32"), 0.05 * error("rank 32"));
  EXPECT_NEAR(error("warm sketch"), error("rank 32"), 0.05 * error("rank 32"));
  // On a nearly flat tail a random sketch underestimates the eigenvalues in it, which exponent 1/4 notices.
  EXPECT_NEAR(error("warm sketch quarter"), error("rank 32 quarter"), 0.02 * error("rank 32 quarter"));
  EXPECT_LT(error("warm sketch quarter"), 0.97 * error("sketch quarter"));
}

TEST_F(Fidelity, GammaPredictsTheError) {
  for (const auto& [name, row] : table)
    EXPECT_LT(row.worst_deviation, 0.05) << name;
  // It is no constant: the predictions themselves span a factor of three.
  EXPECT_LT(table.at("two-sided").predicted, 0.34 * table.at("none").predicted);
}

TEST_F(Fidelity, DiagonalAndRotationChangeNothing) {
  EXPECT_NEAR(error("diagonal"), error("none"), 0.01 * error("none"));
  EXPECT_NEAR(error("rotation"), error("none"), 0.01 * error("none"));
}

/// The bound is that of transforms of the input side.
TEST_F(Fidelity, NoInputTransformBeatsTheNuclearBound) {
  int compared = 0;
  for (const auto& [name, row] : table) {
    if (name.find("output") != std::string::npos || name == "two-sided") continue;
    EXPECT_GE(row.smallest_gamma_over_bound, 1) << name;
    ++compared;
  }
  EXPECT_GE(compared, 20);
}

/// A small absolute damping is large against the moment of output gradients, and leaves T = I.
TEST_F(Fidelity, OutputSideNeedsRelativeDamping) {
  EXPECT_GT(error("none") / error("output"), 1.5);
  EXPECT_NEAR(error("output, small gradients"), error("output"), 0.01 * error("output"));
  EXPECT_NEAR(error("output, absolute damping"), error("none"), 0.01 * error("none"));
}

/// Prints the table, so that a change of any number is seen in the log.
TEST_F(Fidelity, Report) {
  for (const auto& [name, row] : table)
    std::printf("%-26s relative L2 error %.5f, predicted %.5f\n", name.c_str(), row.error, row.predicted);
  EXPECT_GE(table.size(), 20u);
}

}  // namespace
}  // namespace minigift
