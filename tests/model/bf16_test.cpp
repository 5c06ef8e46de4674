// BF16 compute against FP32 compute on the same weights.

#include "tests/model/fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace minigift {
namespace {

constexpr std::int64_t B = 4;
constexpr std::int64_t T = 64;

struct Result {
  double loss;
  std::vector<std::vector<float>> gradients;
};

Result run(Compute compute) {
  const LlamaShape shape = small_shape();
  Llama<float> model(shape, {.B = B, .T = T, .compute = compute});
  model.initialise(11);
  const Batch batch = make_tokens(11, B, T, shape.vocabulary).batch(0, B);
  Result result{};
  result.loss = model.forward(batch.tokens, batch.targets, 1.0f);
  model.backward();
  for (int index = 0; index < model.registry().size(); ++index)
    result.gradients.push_back(to_host(model.gradient(index)));
  return result;
}

// Rounding an operand to BF16 is a relative error of at most 2^-9 per element, independent from element to
// element. A tensor's gradient is a sum of products of such operands, a few of them on the way to it, so its
// relative error is a few times 2^-9 and 1 - cosine half its square: 5 * 2^-9 gives 5e-5. Observed: 2e-5.
TEST(Bf16, LossAndGradientsStayClose) {
  const Result full = run(Compute::fp32);
  const Result rounded = run(Compute::bf16);
  EXPECT_NEAR(rounded.loss, full.loss, 0x1p-9 * full.loss);
  EXPECT_NE(rounded.loss, full.loss) << "nothing was rounded";
  const ParameterRegistry registry(small_shape());
  for (int index = 0; index < registry.size(); ++index) {
    const auto& a = rounded.gradients[static_cast<std::size_t>(index)];
    const auto& b = full.gradients[static_cast<std::size_t>(index)];
    EXPECT_GT(cosine(a, b), 0.9999) << registry[index].name;
    EXPECT_NEAR(norm(a) / norm(b), 1.0, 0.02) << registry[index].name;
    EXPECT_GT(relative_distance(a, b), 0x1p-14) << registry[index].name << ": nothing was rounded";
  }
}

TEST(Bf16, WeightCopyFollowsTheParameters) {
  const LlamaShape shape = small_shape();
  Llama<float> model(shape, {.B = B, .T = T, .compute = Compute::bf16});
  model.initialise(12);
  const Batch batch = make_tokens(12, B, T, shape.vocabulary).batch(0, B);
  const double before = model.evaluate(batch.tokens, batch.targets);
  Llama<float> other(shape, {.B = B, .T = T, .compute = Compute::bf16});
  other.initialise(13);
  Kokkos::deep_copy(model.parameters(), other.parameters());
  model.parameters_changed();
  EXPECT_NE(model.evaluate(batch.tokens, batch.targets), before);
  EXPECT_EQ(model.evaluate(batch.tokens, batch.targets), other.evaluate(batch.tokens, batch.targets));
}

}  // namespace
}  // namespace minigift
