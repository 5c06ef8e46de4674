// Error feedback: what was applied plus what is left equals what came in (algorithm 1, lines 16 and 20 of
// arXiv:2607.07494, and both residuals of the all-to-all reduction).
#include "tests/exchange/fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace minigift {
namespace {

using test::host;
using test::method_with;
using test::SyntheticStep;

/// ||sum of means applied - sum of exact means|| / ||sum of exact means|| after `steps` steps.
double cumulative_error(const Method& method, Communicator& communicator, std::int64_t steps) {
  SyntheticStep step;
  CodecExchange exchange(method, step.registry, step.gradients, communicator, {.bucket_bytes = 60'000});
  std::vector<double> applied, exact;
  for (std::int64_t s = 0; s < steps; ++s) {
    step.run(exchange, s, communicator.rank());
    const auto values = host(step.gradients);
    applied.resize(values.size(), 0.0);
    exact.resize(values.size(), 0.0);
    for (std::size_t i = 0; i < values.size(); ++i)
      applied[i] += static_cast<double>(values[i]);
    for (int r = 0; r < communicator.size(); ++r) {
      SyntheticStep local;
      local.fill(s, r);
      const auto mine = host(local.gradients);
      for (std::size_t i = 0; i < mine.size(); ++i)
        exact[i] += static_cast<double>(mine[i]) / communicator.size();
    }
  }
  double error = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < applied.size(); ++i) {
    error += (applied[i] - exact[i]) * (applied[i] - exact[i]);
    norm += exact[i] * exact[i];
  }
  return std::sqrt(error / norm);
}

TEST(ErrorFeedback, BothResidualsMakeTheErrorTelescopeOverAllToAll) {
  Communicator communicator;
  const auto edit = [](ErrorFeedbackChoice choice) {
    return [choice](MethodDeck& deck) {
      deck.error_feedback = choice;
      deck.coordinates = CoordinatesChoice::euclidean;
    };
  };
  const int n = communicator.size();
  // With residuals the error after S steps is that of one step's residual: smaller by about S.
  const double without =
      cumulative_error(method_with("gift-a2a", n, edit(ErrorFeedbackChoice::off)), communicator, 8);
  const double with =
      cumulative_error(method_with("gift-a2a", n, edit(ErrorFeedbackChoice::all)), communicator, 8);
  EXPECT_LT(with, 0.4 * without);
}

TEST(ErrorFeedback, SurvivesAChangeOfCoordinates) {
  Communicator communicator;
  const int n = communicator.size();
  const auto edit = [](ErrorFeedbackChoice choice) {
    return [choice](MethodDeck& deck) {
      deck.error_feedback = choice;
      deck.layers = {"all"};
      deck.refresh_period = 2;  // residuals are re-expressed every other step
      deck.guard = 10.0;
    };
  };
  const double without =
      cumulative_error(method_with("gift-a2a", n, edit(ErrorFeedbackChoice::off)), communicator, 8);
  const double with =
      cumulative_error(method_with("gift-a2a", n, edit(ErrorFeedbackChoice::all)), communicator, 8);
  EXPECT_LT(with, 0.5 * without);
}

TEST(ErrorFeedback, OneRankIsExactToRoundOff) {
  // With one rank, INT8 and no owner rounding beyond the sender's, applied + residual = input in FP32: two
  // steps whose second gradient is zero return what the first one dropped, except for that residual's own
  // rounding.
  Communicator communicator;
  if (communicator.size() != 1) GTEST_SKIP() << "for one rank";
  const Method method =
      method_with("euclidean", 1, [](MethodDeck& deck) { deck.error_feedback = ErrorFeedbackChoice::all; });
  SyntheticStep step;
  CodecExchange exchange(method, step.registry, step.gradients, communicator, {});
  step.fill(0, 0);
  const auto input = host(step.gradients);
  std::vector<double> applied(input.size(), 0.0);
  for (std::int64_t s = 0; s < 6; ++s) {
    exchange.begin_step(s);
    if (s == 0) {
      step.fill(0, 0);
    } else {
      Kokkos::deep_copy(step.gradients, 0.0f);
    }
    exchange.begin_backward();
    for (int t = step.registry.size() - 1; t >= 0; --t)
      exchange.ready(t);
    exchange.finish();
    const auto values = host(step.gradients);
    for (std::size_t i = 0; i < values.size(); ++i)
      applied[i] += static_cast<double>(values[i]);
  }
  double error = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    error += (applied[i] - static_cast<double>(input[i])) * (applied[i] - static_cast<double>(input[i]));
    norm += static_cast<double>(input[i]) * static_cast<double>(input[i]);
  }
  // Six casts leave (2^-4)^6 of the worst element.
  EXPECT_LT(std::sqrt(error / norm), 1e-6);
}

}  // namespace
}  // namespace minigift
