// Error feedback: what was applied plus what is left equals what came in (Algorithm 1, lines 16 and 20 of
// arXiv:2607.07494, and the residuals of the sums of the other reductions). What is left is made to come out:
// after some steps with gradients follow steps with none, in which each cast leaves at most 2^-4 of the
// residual it found.
#include "tests/exchange/fixture.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>

namespace minigift {
namespace {

using test::host;
using test::method_with;
using test::SyntheticStep;

constexpr std::int64_t steps_with_gradients = 5;
constexpr std::int64_t steps_without = 10;

void add(std::vector<double>& sum, const std::vector<float>& values, double factor) {
  sum.resize(values.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i)
    sum[i] += factor * static_cast<double>(values[i]);
}

/// ||sum applied - sum of exact means|| / ||sum of exact means||, when the residuals have come out.
double what_is_lost(const Method& method, Communicator& communicator) {
  SyntheticStep step;
  CodecExchange exchange(method, step.registry, step.gradients, communicator, {.bucket_bytes = 60'000});
  std::vector<double> applied, exact;
  for (std::int64_t s = 0; s < steps_with_gradients + steps_without; ++s) {
    exchange.begin_step(s);
    // Inputs are observed in every step, so that coordinates go on changing while the residual comes out.
    step.fill(s, communicator.rank(), 1.0f, &exchange);
    if (s >= steps_with_gradients) Kokkos::deep_copy(step.gradients, 0.0f);
    exchange.begin_backward();
    for (int t = step.registry.size() - 1; t >= 0; --t)
      exchange.ready(t);
    EXPECT_FALSE(exchange.finish().skipped);
    add(applied, host(step.gradients), 1.0);
    if (s >= steps_with_gradients) continue;
    for (int r = 0; r < communicator.size(); ++r) {
      SyntheticStep local;
      local.fill(s, r);
      add(exact, host(local.gradients), 1.0 / communicator.size());
    }
  }
  double error = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < applied.size(); ++i) {
    error += (applied[i] - exact[i]) * (applied[i] - exact[i]);
    norm += exact[i] * exact[i];
  }
  return std::sqrt(error / norm);
}

/// Round-off of the sums and residuals: some tens of FP32 operations of unit roundoff 2^-24.
constexpr double round_off = 64 * 0x1p-24;

/// Two nodes of two ranks, where there are four, so that a hierarchical sum has two levels.
CommunicatorOptions in_pairs() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return {.ranks_per_node = ranks == 4 ? 2 : 0};
}

TEST(ErrorFeedback, SumsInFp32LoseNothing) {
  Communicator communicator(in_pairs());
  for (const char* name : {"gift-a2a", "gift-hierarchical"}) {
    for (const Format format : {Format::e4m3, Format::e5m2, Format::int8}) {
      const Method method = method_with(name, communicator.size(), [format](MethodDeck& deck) {
        deck.format = format;
        deck.coordinates = CoordinatesChoice::euclidean;
        deck.error_feedback = ErrorFeedbackChoice::all;
      });
      EXPECT_LE(what_is_lost(method, communicator), round_off) << name << " " << minigift::name(format);
    }
  }
}

TEST(ErrorFeedback, WithoutItTheRoundingIsLost) {
  Communicator communicator;
  const Method method = method_with("gift-a2a", communicator.size(), [](MethodDeck& deck) {
    deck.coordinates = CoordinatesChoice::euclidean;
    deck.error_feedback = ErrorFeedbackChoice::off;
  });
  EXPECT_GT(what_is_lost(method, communicator), 1e-3);
}

TEST(ErrorFeedback, AChangeOfCoordinatesLosesNothing) {
  Communicator communicator(in_pairs());
  for (const char* name : {"gift-a2a", "gift-hierarchical"}) {
    const Method method = method_with(name, communicator.size(), [](MethodDeck& deck) {
      deck.error_feedback = ErrorFeedbackChoice::all;
      deck.layers = {"all"};
      deck.refresh_period = 2;  // residuals of sender, node and owner are re-expressed every other step
      deck.guard = 10.0;        // also where there is no gradient to judge by
    });
    // There and back through T costs round-off times its condition, below 10 for this spectrum.
    EXPECT_LE(what_is_lost(method, communicator), 10 * round_off) << name;
  }
}

TEST(ErrorFeedback, TheNativeSumLosesItsHopsAlone) {
  // No rank sees the rounding of a hop, so with more than one rank that part is lost; with one rank nothing
  // is.
  Communicator communicator;
  const Method method = method_with("euclidean", communicator.size(),
                                    [](MethodDeck& deck) { deck.error_feedback = ErrorFeedbackChoice::all; });
  const double lost = what_is_lost(method, communicator);
  if (communicator.size() == 1) {
    EXPECT_LE(lost, round_off);
  } else {
    EXPECT_GT(lost, 1e-3);
    EXPECT_LT(lost, 0.05);
  }
}

}  // namespace
}  // namespace minigift
