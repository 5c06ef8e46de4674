// Every built-in method over ranks: the mean is right, replicas agree, overlap changes no bit, faults are
// agreed on.
#include "miniapp/exchange/error_bound.hpp"
#include "miniapp/exchange/exchange_check.hpp"
#include "tests/exchange/fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace minigift {
namespace {

using test::host;
using test::method_named;
using test::method_with;
using test::SyntheticStep;

/// FP64 mean of all ranks' gradients of a step.
std::vector<double> exact_mean(std::int64_t step, int ranks, float slope) {
  std::vector<double> mean;
  for (int r = 0; r < ranks; ++r) {
    SyntheticStep local;
    local.fill(step, r, 1.0f + slope * static_cast<float>(r));
    const auto values = host(local.gradients);
    mean.resize(values.size(), 0.0);
    for (std::size_t i = 0; i < values.size(); ++i)
      mean[i] += static_cast<double>(values[i]) / ranks;
  }
  return mean;
}

double relative_l2(const std::vector<float>& values, const std::vector<double>& reference) {
  double error = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = static_cast<double>(values[i]) - reference[i];
    error += difference * difference;
    norm += reference[i] * reference[i];
  }
  return std::sqrt(error / norm);
}

TEST(Exchange, GivesTheMeanWithinTheBoundAndTheSameBitsEverywhere) {
  Communicator communicator;
  for (const MethodDeck& deck : built_in_methods()) {
    const Method method = resolve_method(deck, ExchangeDeck{}, communicator.size());
    SyntheticStep step;
    CodecExchange exchange(method, step.registry, step.gradients, communicator, {.bucket_bytes = 40'000});
    for (std::int64_t s = 0; s < 3; ++s) {
      const ExchangeResult result = step.run(exchange, s, communicator.rank());
      ASSERT_FALSE(result.skipped) << method.name << ": " << result.reason;
      if (method.allow_divergence) continue;
      const double error = relative_l2(host(step.gradients), exact_mean(s, communicator.size(), 0.0f));
      EXPECT_LE(error, exchange_error_bound(method, communicator.size())) << method.name << " step " << s;
      EXPECT_EQ(error > 1e-5, method.format != Format::fp32) << method.name << ": " << error;
      EXPECT_TRUE(compare_replicas(step.gradients, communicator).identical) << method.name << " step " << s;
    }
  }
}

TEST(Exchange, OverlapChangesNoBit) {
  Communicator communicator;
  for (const MethodDeck& deck : built_in_methods()) {
    const Method method = resolve_method(deck, ExchangeDeck{}, communicator.size());
    SyntheticStep one, two;
    CodecExchange serial(method, one.registry, one.gradients, communicator, {.bucket_bytes = 15'000});
    CodecExchange overlapped(method, two.registry, two.gradients, communicator,
                             {.bucket_bytes = 15'000, .overlap = true});
    ASSERT_GT(serial.plan().buckets().size(), 5u);
    for (std::int64_t s = 0; s < 12; ++s) {  // past a refresh at step 10
      one.run(serial, s, communicator.rank());
      two.run(overlapped, s, communicator.rank());
      EXPECT_EQ(host(one.gradients), host(two.gradients)) << method.name << " step " << s;
    }
  }
}

TEST(Exchange, MessageLimitChangesNoBit) {
  Communicator whole;
  Communicator pieces({.max_message_bytes = 1000});
  for (const char* name : {"euclidean", "gift-a2a"}) {
    const Method method = method_named(name, whole.size());
    SyntheticStep one, two;
    CodecExchange first(method, one.registry, one.gradients, whole, {});
    CodecExchange second(method, two.registry, two.gradients, pieces, {});
    one.run(first, 0, whole.rank());
    two.run(second, 0, whole.rank());
    EXPECT_EQ(host(one.gradients), host(two.gradients)) << name;
  }
}

TEST(Exchange, LiteralAlgorithmDivergesWhenRanksDifferInSize) {
  Communicator communicator;
  if (communicator.size() == 1) GTEST_SKIP() << "one rank cannot differ from itself";
  const float scale = static_cast<float>(1 << communicator.rank());  // amax differs by powers of two
  SyntheticStep step;
  CodecExchange literal(method_named("gift-literal", communicator.size()), step.registry, step.gradients,
                        communicator, {});
  step.run(literal, 1, communicator.rank(), scale);
  EXPECT_FALSE(compare_replicas(step.gradients, communicator).identical);
  EXPECT_GT(replica_divergence(step.gradients, communicator), 0.1);

  // The corrected method on the same data does not.
  SyntheticStep other;
  CodecExchange corrected(method_named("gift-paper", communicator.size()), other.registry, other.gradients,
                          communicator, {});
  other.run(corrected, 1, communicator.rank(), scale);
  EXPECT_TRUE(compare_replicas(other.gradients, communicator).identical);
  EXPECT_LT(replica_divergence(other.gradients, communicator), 1e-7);
}

TEST(Exchange, ANonFiniteGradientOnOneRankIsSkippedByAllAndNamed) {
  Communicator communicator;
  for (const MethodDeck& deck : built_in_methods()) {
    for (const float poison :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      for (const bool overlap : {false, true}) {
        const Method method = resolve_method(deck, ExchangeDeck{}, communicator.size());
        SyntheticStep step, clean;
        CodecExchange exchange(method, step.registry, step.gradients, communicator,
                               {.bucket_bytes = 40'000, .overlap = overlap});
        CodecExchange reference(method, clean.registry, clean.gradients, communicator,
                                {.bucket_bytes = 40'000});
        ASSERT_FALSE(step.run(exchange, 1, communicator.rank()).skipped);
        ASSERT_FALSE(clean.run(reference, 1, communicator.rank()).skipped);

        const int victim = communicator.size() - 1;
        const Parameter& tensor = step.registry[step.registry.find("model.layers.1.mlp.up_proj.weight")];
        exchange.begin_step(2);
        step.fill(2, communicator.rank());
        if (communicator.rank() == victim) {
          Kokkos::deep_copy(
              Kokkos::subview(step.gradients, Kokkos::make_pair(tensor.offset + 5, tensor.offset + 6)),
              poison);
        }
        exchange.begin_backward();
        for (int t = step.registry.size() - 1; t >= 0; --t)
          exchange.ready(t);
        const ExchangeResult result = exchange.finish();
        EXPECT_TRUE(result.skipped) << method.name;
        EXPECT_EQ(result.reason, tensor.name + " on rank " + std::to_string(victim)) << method.name;

        // The next step is as if the bad one had not been: residuals were kept.
        ASSERT_FALSE(step.run(exchange, 3, communicator.rank()).skipped);
        ASSERT_FALSE(clean.run(reference, 3, communicator.rank()).skipped);
        EXPECT_EQ(host(step.gradients), host(clean.gradients)) << method.name;
      }
    }
  }
}

TEST(Exchange, FiniteGradientsWhoseSumOverflowsAreSkipped) {
  Communicator communicator;
  for (const char* name : {"fp32", "bf16"}) {
    SyntheticStep step;
    CodecExchange exchange(method_named(name, communicator.size()), step.registry, step.gradients,
                           communicator, {});
    exchange.begin_step(0);
    Kokkos::deep_copy(step.gradients, 3e38f);
    exchange.begin_backward();
    for (int t = step.registry.size() - 1; t >= 0; --t)
      exchange.ready(t);
    const ExchangeResult result = exchange.finish();
    EXPECT_EQ(result.skipped, communicator.size() > 1) << name;
    EXPECT_EQ(result.reason, communicator.size() > 1 ? "the sum over ranks" : "") << name;
    EXPECT_FALSE(step.run(exchange, 1, communicator.rank()).skipped) << name;
  }
}

TEST(Exchange, TheGuardKeepsTensorsEuclideanThatWouldLose) {
  Communicator communicator;
  const int n = communicator.size();
  // Gradients that have nothing to do with the inputs: whitening spreads their error, gamma > 1.
  const auto fill_noise = [&](SyntheticStep& step) {
    const auto noise = test::normal_matrix<float>(1, step.registry.flat_size(), 5,
                                                  static_cast<std::uint32_t>(communicator.rank()), 1e-3);
    Kokkos::deep_copy(step.gradients, flatten(noise));
  };
  const auto run = [&](const Method& method, double& fallbacks) {
    SyntheticStep step;
    CodecExchange exchange(method, step.registry, step.gradients, communicator, {});
    exchange.begin_step(0);
    step.fill(0, communicator.rank(), 1.0f, &exchange);
    fill_noise(step);
    exchange.begin_backward();
    for (int t = step.registry.size() - 1; t >= 0; --t)
      exchange.ready(t);
    fallbacks = static_cast<double>(exchange.finish().fallback_tensors);
    return host(step.gradients);
  };
  const auto with_guard = [n](double guard) {
    return method_with("gift", n, [guard](MethodDeck& deck) {
      deck.layers = {"all"};
      deck.exponent = 0.5;
      deck.error_feedback = ErrorFeedbackChoice::off;
      deck.guard = guard;
    });
  };
  double guarded = 0.0, unguarded = 0.0, none = 0.0;
  const auto safe = run(with_guard(0.95), guarded);
  const auto bold = run(with_guard(100.0), unguarded);
  const auto euclidean = run(method_named("euclidean", n), none);
  EXPECT_EQ(guarded, 14.0) << "seven matrices in each of two layers";
  EXPECT_EQ(unguarded, 0.0);
  EXPECT_EQ(safe, euclidean);
  EXPECT_NE(bold, euclidean);
}

TEST(Exchange, NonFiniteActivationsEndInASkippedStep) {
  Communicator communicator;
  SyntheticStep step;
  CodecExchange exchange(method_named("gift", communicator.size()), step.registry, step.gradients,
                         communicator, {});
  exchange.begin_step(0);
  step.fill(0, communicator.rank(), 1.0f, &exchange);
  Matrix<float> bad("bad", 4, static_cast<std::size_t>(step.registry.input_sites()[0].width));
  Kokkos::deep_copy(bad, std::numeric_limits<float>::quiet_NaN());
  if (communicator.rank() == 0) {
    exchange.observe_input(0, Matrix<const float>(bad));
    Kokkos::deep_copy(step.gradients, std::numeric_limits<float>::quiet_NaN());
  }
  exchange.begin_backward();
  for (int t = step.registry.size() - 1; t >= 0; --t)
    exchange.ready(t);
  EXPECT_TRUE(exchange.finish().skipped);
  EXPECT_FALSE(step.run(exchange, 10, communicator.rank()).skipped);
}

}  // namespace
}  // namespace minigift
