// Loss and every gradient tensor against an independent PyTorch implementation in double precision.

#include "tests/model/golden.hpp"

#include <gtest/gtest.h>

namespace minigift {
namespace {

// Bounds of the relative L2 error of a tensor. Double: both sides round every operation to 2^-53, about 50
// operations deep with sums of up to 256 terms: sqrt(256) * 50 * 1.1e-16 = 9e-14. The rest is room for
// another math library. Single: the same with 2^-24 gives 5e-5; observed values are a tenth of it.
template <class S>
constexpr double bound = 1e-11;
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
