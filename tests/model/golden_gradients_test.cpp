// Loss and every gradient tensor against an independent PyTorch implementation in double precision.

#include "tests/model/golden.hpp"

#include <gtest/gtest.h>

namespace minigift {
namespace {

// Bounds of the relative L2 error of a tensor. A gradient is about 50 operations deep and the longest sums
// have 256 terms; rounding errors of sums grow like the square root of their length, so sqrt(256) * 50 = 800
// unit roundoffs may be expected at worst: 9e-14 in double, 5e-5 in single. Observed: 3e-15 and 1.5e-6.
template <class S>
constexpr double bound = 1e-12;
template <>
constexpr double bound<float> = 1e-5;

template <class S>
void check(const std::string& name, bool recompute) {
  const GoldenCase golden = read_golden(name);
  Llama<S> model(golden.shape, {.B = golden.B, .T = golden.T, .recompute = recompute});
  set_hashed_weights(model);
  const Batch batch = golden.batch();
  const double loss = model.forward(batch.tokens, batch.targets, S(1));
  model.backward();
  EXPECT_NEAR(loss, golden.loss, bound<S> * golden.loss);
  ASSERT_EQ(static_cast<int>(golden.gradients.size()), model.registry().size());
  for (int index = 0; index < model.registry().size(); ++index) {
    const std::string& tensor = model.registry()[index].name;
    ASSERT_TRUE(golden.gradients.contains(tensor)) << tensor;
    EXPECT_LT(relative_distance(to_host(model.gradient(index)), golden.gradients.at(tensor)), bound<S>)
        << tensor;
  }
}

TEST(Golden, GradientsInDouble) {
  check<double>("mha", false);
}
TEST(Golden, GradientsInSingle) {
  check<float>("mha", false);
}
TEST(Golden, GradientsInDoubleGroupedQueries) {
  check<double>("gqa", false);
}
TEST(Golden, GradientsInSingleGroupedQueries) {
  check<float>("gqa", true);
}

}  // namespace
}  // namespace minigift
