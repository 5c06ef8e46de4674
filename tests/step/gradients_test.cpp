// Gradients without a model: their distribution is the one asked for, a replayed trace is the trace.

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "miniapp/step/synthetic_gradients.hpp"
#include "miniapp/step/trace_gradients.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace minigift {
namespace {

const LlamaShape shape = {.layers = 2,
                          .hidden = 64,
                          .heads = 4,
                          .kv_heads = 4,
                          .feed_forward = 192,
                          .vocabulary = 256,
                          .rope_theta = 1e4,
                          .rms_epsilon = 1e-5,
                          .init_std = 0.02};

std::vector<float> loaded(GradientSource& source, std::int64_t iteration = 0) {
  const Vector<float> gradients("gradients", static_cast<std::size_t>(source.registry().flat_size()));
  source.load(iteration, gradients);
  const auto host = on_host(gradients);
  return {host.data(), host.data() + host.size()};
}

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return ab / std::sqrt(aa * bb);
}

TEST(SyntheticGradients, RanksAreCorrelatedAsAsked) {
  const ParameterRegistry registry(shape);
  for (const double rho : {0.0, 0.3, 1.0}) {
    // Without spikes and tails every element counts alike: 139,584 of them, a standard error below 0.003.
    const SyntheticGradientOptions options = {.spikes = 0, .rank_correlation = rho};
    SyntheticGradients first(registry, options, 0), second(registry, options, 1);
    EXPECT_NEAR(correlation(loaded(first), loaded(second)), rho, 0.012);
    const SyntheticGradientOptions heavy = {.spikes = 0, .tail_weight = 0.4, .rank_correlation = rho};
    SyntheticGradients third(registry, heavy, 0), fourth(registry, heavy, 1);
    EXPECT_NEAR(correlation(loaded(third), loaded(fourth)), rho, 0.02);
  }
}

TEST(SyntheticGradients, TailsHaveTheKurtosisAsked) {
  const ParameterRegistry registry(shape);
  for (const double weight : {0.0, 0.4}) {
    SyntheticGradients source(registry, {.spikes = 0, .tail_weight = weight}, 0);
    const std::vector<float> values = loaded(source);
    double second = 0, fourth = 0;
    std::int64_t count = 0;
    for (const int t : {registry.embedding()}) {
      const Parameter& p = registry[t];
      for (std::int64_t i = 0; i < p.size(); ++i) {
        const double square =
            std::pow(static_cast<double>(values[static_cast<std::size_t>(p.offset + i)]), 2);
        second += square;
        fourth += square * square;
        ++count;
      }
    }
    const double kurtosis = fourth * static_cast<double>(count) / (second * second);
    const double expected = 3 * std::exp(4 * weight * weight);
    EXPECT_NEAR(kurtosis, expected, 0.15 * expected);
    EXPECT_NEAR(second / static_cast<double>(count), 1.0 / 4096, 0.05 / 4096);
  }
}

TEST(SyntheticGradients, InputsHaveTheSpectrumAsked) {
  const ParameterRegistry registry(shape);
  SyntheticGradients source(registry, {.spikes = 3, .spike_strength = 50, .input_rows = 8192}, 0);
  const auto x =
      on_host(source.input(0, registry[registry.find("model.layers.1.mlp.down_proj.weight")].input_site));
  ASSERT_EQ(extent(x, 0), 8192);
  ASSERT_EQ(extent(x, 1), 192);
  double trace = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    trace += std::pow(static_cast<double>(x.data()[i]), 2) / 8192;
  const double expected = 192 + 50 * (1 + 1.0 / 2 + 1.0 / 3);
  EXPECT_NEAR(trace, expected, 0.03 * expected);
  // sum of squared eigenvalues: (1 + s_i)^2 and ones; from the entries of A = x^T x / R.
  double squares = 0;
  for (std::int64_t i = 0; i < 192; ++i) {
    for (std::int64_t j = 0; j < 192; ++j) {
      double a = 0;
      for (std::int64_t r = 0; r < 8192; ++r)
        a += static_cast<double>(x(r, i)) * static_cast<double>(x(r, j));
      squares += std::pow(a / 8192, 2);
    }
  }
  const double wanted = 189 + 51.0 * 51.0 + 26.0 * 26.0 + std::pow(1 + 50.0 / 3, 2);
  EXPECT_NEAR(squares, wanted, 0.08 * wanted);
}

TEST(SyntheticGradients, AreAFunctionOfSeedAndRank) {
  const ParameterRegistry registry(shape);
  SyntheticGradients a(registry, {}, 1), b(registry, {}, 1), other_rank(registry, {}, 2),
      other_seed(registry, {.seed = 2}, 1);
  EXPECT_EQ(loaded(a), loaded(b, 5));
  EXPECT_NE(loaded(a), loaded(other_rank));
  EXPECT_NE(loaded(a), loaded(other_seed));
}

TEST(TraceGradients, AreThoseOfTheTrace) {
  const TraceReader trace(MINIGIFT_SMALL_TRACE);
  const int ranks = trace.header().ranks;
  const auto steps = static_cast<std::int64_t>(trace.steps().size());
  for (const int rank : {0, ranks - 1, ranks}) {
    TraceGradients source(MINIGIFT_SMALL_TRACE, rank);
    ASSERT_EQ(source.registry().size(), static_cast<int>(trace.header().tensors.size()));
    for (const std::int64_t iteration : {std::int64_t{0}, steps, steps + 1}) {
      const std::vector<float> values = loaded(source, iteration);
      for (int t = 0; t < source.registry().size(); ++t) {
        const Parameter& p = source.registry()[t];
        EXPECT_EQ(p.name, trace.header().tensors[static_cast<std::size_t>(t)].name);
        const auto expected = trace.gradient(static_cast<std::size_t>(iteration % steps), t, rank % ranks);
        EXPECT_EQ(
            std::memcmp(expected.data(), &values[static_cast<std::size_t>(p.offset)], 4 * expected.size()), 0)
            << p.name;
      }
    }
  }
}

TEST(TraceGradients, InputsHaveTheRecordedSecondMoment) {
  const TraceReader trace(MINIGIFT_SMALL_TRACE);
  ASSERT_TRUE(trace.header().content.input_moment);
  TraceGradients source(MINIGIFT_SMALL_TRACE, 0);
  const int site = source.registry()[0].input_site;
  const std::string& name = source.registry().input_sites()[static_cast<std::size_t>(site)].name;
  const auto a = trace.input_moment(0, trace.find_site(name), 0);
  const auto x = on_host(source.input(0, site));
  const std::int64_t d = extent(a, 0);
  double error = 0, norm = 0;
  for (std::int64_t i = 0; i < d; ++i) {
    for (std::int64_t j = 0; j < d; ++j) {
      double product = 0;
      for (std::int64_t r = 0; r < extent(x, 0); ++r)
        product += static_cast<double>(x(r, i)) * static_cast<double>(x(r, j));
      error += std::pow(product / static_cast<double>(extent(x, 0)) - static_cast<double>(a(i, j)), 2);
      norm += std::pow(static_cast<double>(a(i, j)), 2);
    }
  }
  EXPECT_LT(std::sqrt(error / norm), 1e-4);
}

TEST(TraceGradients, RefusesWhatIsNoTrace) {
  EXPECT_THROW(TraceGradients("no-such.h5", 0), UsageError);
}

}  // namespace
}  // namespace minigift
