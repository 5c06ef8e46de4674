// AdamW against the serial oracle over several steps, and against the first step in closed form.

#include "kernels/error.hpp"
#include "kernels/optim/adamw.hpp"
#include "kernels/reference/adamw.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace minigift {
namespace {

using test::to_double;
using test::values_of;

template <class S>
class AdamW : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AdamW, Scalars);

TYPED_TEST(AdamW, FollowsTheOracle) {
  using S = TypeParam;
  // Lengths below, at and beyond one piece of the parallel loop.
  for (const std::int64_t count : {1, 7, 1024, 2500}) {
    const Vector<S> parameter = test::to_vector(test::gaussian<S>(count, 1));
    const Vector<S> m("m", parameter.extent(0)), v("v", parameter.extent(0));
    reference::AdamWState expected{to_double(values_of(parameter)),
                                   std::vector<double>(parameter.extent(0), 0.0),
                                   std::vector<double>(parameter.extent(0), 0.0)};
    AdamWOptions options;
    options.weight_decay = 0.3f;
    for (std::int64_t step = 1; step <= 6; ++step) {
      const std::vector<S> gradient = test::gaussian<S>(count, 10 + static_cast<std::uint64_t>(step));
      const S rate = S(0.01) * S(step), scale = S(0.7);
      adamw<S>(parameter, test::to_vector(gradient), m, v, rate, scale, options, step);
      reference::adamw(expected, to_double(gradient), rate, scale, options, step);
    }
    const std::vector<S> p = values_of(parameter), first = values_of(m), second = values_of(v);
    // Six steps of a few roundings each, on numbers of size 1.
    const double bound = 60 * std::numeric_limits<S>::epsilon();
    for (std::size_t i = 0; i < p.size(); ++i) {
      ASSERT_NEAR(p[i], expected.parameter[i], bound * (1 + std::abs(expected.parameter[i])));
      ASSERT_NEAR(first[i], expected.m[i], bound);
      ASSERT_NEAR(second[i], expected.v[i], bound * (1 + expected.v[i]));
    }
  }
}

/// From zero moments the corrections cancel: the step is rate * g / (|g| + epsilon), after decay.
TYPED_TEST(AdamW, FirstStepInClosedForm) {
  using S = TypeParam;
  const std::vector<S> start = {2, -1, 0.5, 3}, gradient = {4, -0.25, 1e-9, 0};
  const Vector<S> parameter = test::to_vector(start);
  const Vector<S> m("m", 4), v("v", 4);
  const AdamWOptions options{0.9f, 0.95f, 1e-8f, 0.1f};
  adamw<S>(parameter, test::to_vector(gradient), m, v, S(0.01), S(1), options, 1);
  const std::vector<S> after = values_of(parameter);
  for (std::size_t i = 0; i < 4; ++i) {
    const double g = gradient[i];
    const double expected = start[i] * (1 - 0.01 * 0.1) - 0.01 * g / (std::abs(g) + 1e-8);
    EXPECT_NEAR(after[i], expected, 1e-6);
  }
}

TYPED_TEST(AdamW, WithoutDecayOrGradientNothingMoves) {
  using S = TypeParam;
  const std::vector<S> start = test::gaussian<S>(100, 1);
  const Vector<S> parameter = test::to_vector(start), zero("zero", 100), m("m", 100), v("v", 100);
  AdamWOptions options;
  options.weight_decay = 0;
  adamw<S>(parameter, zero, m, v, S(0.1), S(1), options, 1);
  EXPECT_EQ(values_of(parameter), start);
}

TYPED_TEST(AdamW, RefusesWhatDoesNotFit) {
  using S = TypeParam;
  const Vector<S> four("four", 4), five("five", 5);
  EXPECT_THROW(adamw<S>(four, five, four, four, S(1), S(1), AdamWOptions(), 1), RuntimeError);
  EXPECT_THROW(adamw<S>(four, four, four, four, S(1), S(1), AdamWOptions(), 0), RuntimeError);
  adamw<S>(Vector<S>("p", 0), Vector<S>("g", 0), Vector<S>("m", 0), Vector<S>("v", 0), S(1), S(1),
           AdamWOptions(), 1);
}

}  // namespace
}  // namespace minigift
