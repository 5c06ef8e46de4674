// How passes combine: micro-batches, recomputation, chunks of logits, evaluation, initial weights, misuse.

#include "kernels/error.hpp"
#include "kernels/format/philox.hpp"
#include "tests/model/fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

constexpr std::int64_t sequences = 8;
constexpr std::int64_t T = 24;

template <class S>
struct Step {
  double loss;
  std::vector<S> gradients;  // flat
};

/// Gradient of the mean loss over all sequences, in micro-batches of B.
template <class S>
Step<S> run(const LlamaShape& shape, LlamaOptions options, const TokenRows& tokens) {
  Llama<S> model(shape, options);
  set_hashed_weights(model);
  const std::int64_t micro_batches = tokens.sequences / options.B;
  model.zero_gradients();
  Step<S> step{};
  for (std::int64_t m = 0; m < micro_batches; ++m) {
    const Batch batch = tokens.batch(m * options.B, options.B);
    step.loss += model.forward(batch.tokens, batch.targets, S(1) / static_cast<S>(micro_batches)) /
                 static_cast<double>(micro_batches);
    model.backward();
  }
  step.gradients = to_host(model.gradients());
  return step;
}

template <class S>
std::vector<S> tensor(const ParameterRegistry& registry, const std::vector<S>& flat, int index) {
  const auto begin = flat.begin() + registry[index].offset;
  return {begin, begin + registry[index].size()};
}

TEST(MicroBatches, AddUpExactlyInDouble) {
  const LlamaShape shape = odd_shape();
  const TokenRows tokens = make_tokens(1, sequences, T, shape.vocabulary);
  const Step<double> whole = run<double>(shape, {.B = 8, .T = T}, tokens);
  for (const std::int64_t B : {4, 2, 1}) {
    const Step<double> split = run<double>(shape, {.B = B, .T = T}, tokens);
    EXPECT_NEAR(split.loss, whole.loss, 1e-13 * whole.loss) << B;
    const ParameterRegistry registry(shape);
    for (int index = 0; index < registry.size(); ++index)
      EXPECT_LT(relative_distance(tensor(registry, split.gradients, index),
                                  tensor(registry, whole.gradients, index)),
                1e-12)
          << B << " " << registry[index].name;
  }
}

// Bound in single precision. A gradient passes through n = 22 L + 5 operations (11 per layer and direction),
// each a sum of at most K products. The rounding errors of such a sum grow like sqrt(K) u with u = 2^-24
// (Higham and Mary 2019), and those of the n operations, independent of each other, add up in squares: sqrt(n
// K) u. Errors are relative to the gradients g_s of single sequences, so where these cancel, kappa = sum
// ||g_s|| / ||sum g_s|| enters.
TEST(MicroBatches, AgreeInSinglePrecision) {
  const LlamaShape shape = small_shape();
  const ParameterRegistry registry(shape);
  const TokenRows tokens = make_tokens(2, sequences, T, shape.vocabulary);
  const Step<float> whole = run<float>(shape, {.B = 8, .T = T}, tokens);
  std::vector<double> sum_of_norms(static_cast<std::size_t>(registry.size()), 0.0);
  for (std::int64_t s = 0; s < sequences; ++s) {
    const TokenRows one{1, T, {tokens.rows.begin() + s * (T + 1), tokens.rows.begin() + (s + 1) * (T + 1)}};
    const Step<float> single = run<float>(shape, {.B = 1, .T = T}, one);
    for (int index = 0; index < registry.size(); ++index)
      sum_of_norms[static_cast<std::size_t>(index)] +=
          norm(tensor(registry, single.gradients, index)) / static_cast<double>(sequences);
  }
  const double operations = 22.0 * static_cast<double>(shape.layers) + 5.0;
  const double K = static_cast<double>(std::max({sequences * T, shape.feed_forward, shape.vocabulary}));
  const double rounding = std::sqrt(operations * K) * 0x1p-24;
  for (const std::int64_t B : {4, 2, 1}) {
    const Step<float> split = run<float>(shape, {.B = B, .T = T}, tokens);
    EXPECT_NEAR(split.loss, whole.loss, rounding * whole.loss) << B;
    for (int index = 0; index < registry.size(); ++index) {
      const std::vector<float> reference = tensor(registry, whole.gradients, index);
      const double kappa = sum_of_norms[static_cast<std::size_t>(index)] / norm(reference);
      EXPECT_LT(relative_distance(tensor(registry, split.gradients, index), reference), rounding * kappa)
          << B << " " << registry[index].name;
    }
  }
}

TEST(Recompute, GradientsHaveTheSameBits) {
  for (const Compute compute : {Compute::fp32, Compute::bf16}) {
    for (const LlamaShape& shape : {small_shape(), odd_shape()}) {
      const TokenRows tokens = make_tokens(3, sequences, T, shape.vocabulary);
      const Step<float> kept =
          run<float>(shape, {.B = 4, .T = T, .compute = compute, .recompute = false}, tokens);
      const Step<float> again =
          run<float>(shape, {.B = 4, .T = T, .compute = compute, .recompute = true}, tokens);
      EXPECT_EQ(kept.loss, again.loss);
      EXPECT_EQ(kept.gradients, again.gradients);
    }
  }
}

TEST(Recompute, HoldsOneLayerOfActivations) {
  LlamaShape shape = small_shape();
  shape.layers = 8;
  const Llama<float> kept(shape, {.B = 4, .T = T, .recompute = false});
  const Llama<float> again(shape, {.B = 4, .T = T, .recompute = true});
  EXPECT_LT(3 * again.activation_bytes(), kept.activation_bytes());
}

TEST(Head, ChunksOfLogitsChangeOnlyRounding) {
  const LlamaShape shape = odd_shape();
  const TokenRows tokens = make_tokens(4, sequences, T, shape.vocabulary);
  const Step<double> whole = run<double>(shape, {.B = 8, .T = T}, tokens);
  // 192 rows: chunks of 1 row, of 7 (the last one shorter), and of half the rows.
  for (const std::int64_t rows : {1, 7, 96}) {
    const LlamaOptions options{.B = 8, .T = T, .logits_bytes = rows * shape.vocabulary * 8};
    const Step<double> chunked = run<double>(shape, options, tokens);
    EXPECT_NEAR(chunked.loss, whole.loss, 1e-14 * whole.loss);
    EXPECT_LT(relative_distance(chunked.gradients, whole.gradients), 1e-13);
  }
  const Llama<double> small(shape, {.B = 8, .T = T, .logits_bytes = 1});
  const Llama<double> large(shape, {.B = 8, .T = T});
  EXPECT_EQ(large.activation_bytes() - small.activation_bytes(), (8 * T - 1) * shape.vocabulary * 8);
}

TEST(Evaluate, LeavesNoTrace) {
  const LlamaShape shape = small_shape();
  const TokenRows tokens = make_tokens(5, 2 * sequences, T, shape.vocabulary);
  const Batch training = tokens.batch(0, 4);
  const Batch held_out = tokens.batch(8, 4);
  for (const bool recompute : {false, true}) {
    for (const Compute compute : {Compute::fp32, Compute::bf16}) {
      const LlamaOptions options{.B = 4, .T = T, .compute = compute, .recompute = recompute};
      Llama<float> with(shape, options), without(shape, options);
      set_hashed_weights(with);
      set_hashed_weights(without);
      const std::vector<float> parameters = to_host(with.parameters());
      for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
        const double before = with.evaluate(held_out.tokens, held_out.targets);
        const double loss = with.forward(training.tokens, training.targets, 0.5f);
        with.backward();
        EXPECT_EQ(with.evaluate(held_out.tokens, held_out.targets), before);
        EXPECT_EQ(with.evaluate(training.tokens, training.targets), loss);
        without.forward(training.tokens, training.targets, 0.5f);
        without.backward();
        EXPECT_EQ(to_host(with.gradients()), to_host(without.gradients()));
        EXPECT_EQ(to_host(with.parameters()), parameters);
      }
    }
  }
}

TEST(Llama, PaddingOfTheFlatBuffersStaysZero) {
  const LlamaShape shape = odd_shape();
  Llama<float> model(shape, {.B = 4, .T = T});
  model.initialise(1);
  const Batch batch = make_tokens(6, 4, T, shape.vocabulary).batch(0, 4);
  model.forward(batch.tokens, batch.targets, 1.0f);
  model.backward();
  std::vector<float> parameters = to_host(model.parameters());
  std::vector<float> gradients = to_host(model.gradients());
  for (const Parameter& parameter : model.registry())
    for (std::int64_t i = parameter.offset; i < parameter.offset + parameter.size(); ++i)
      parameters[static_cast<std::size_t>(i)] = gradients[static_cast<std::size_t>(i)] = 0.0f;
  EXPECT_EQ(norm(parameters), 0.0);
  EXPECT_EQ(norm(gradients), 0.0);
}

TEST(Initialise, FollowsTheDistributionOfEachRole) {
  LlamaShape shape = small_shape();
  shape.init_std = 0.03;
  Llama<float> model(shape, {.B = 1, .T = 4});
  model.initialise(42);
  for (int index = 0; index < model.registry().size(); ++index) {
    const Parameter& parameter = model.registry()[index];
    const std::vector<float> values = to_host(model.parameter(index));
    if (parameter.role == Role::norm) {
      EXPECT_EQ(values, std::vector<float>(values.size(), 1.0f));
      continue;
    }
    const bool residual = parameter.role == Role::attention_o || parameter.role == Role::mlp_down;
    const double expected = residual ? 0.03 / 2.0 : 0.03;  // sqrt(2 L) = 2
    double sum = 0.0;
    for (const float value : values)
      sum += value;
    const double n = static_cast<double>(values.size());
    const double deviation = norm(values) / std::sqrt(n);
    // Five standard errors of mean and standard deviation of n normal numbers.
    EXPECT_LT(std::abs(sum / n), 5.0 * expected / std::sqrt(n)) << parameter.name;
    EXPECT_NEAR(deviation, expected, 5.0 * expected / std::sqrt(2.0 * n)) << parameter.name;
  }
}

TEST(Initialise, EachNumberDependsOnSeedParameterAndElementOnly) {
  const LlamaShape shallow = small_shape();
  LlamaShape wide = shallow;
  wide.vocabulary = 512;  // moves every offset and changes no other tensor's shape
  Llama<float> a(shallow, {.B = 1, .T = 4}), b(wide, {.B = 2, .T = 8}), c(shallow, {.B = 1, .T = 4});
  a.initialise(1);
  b.initialise(1);
  c.initialise(2);
  const int down = ParameterRegistry::index(1, down_proj);
  EXPECT_NE(a.registry()[down].offset, b.registry()[down].offset);
  EXPECT_EQ(to_host(a.parameter(down)), to_host(b.parameter(down)));
  EXPECT_LT(std::abs(cosine(to_host(a.parameter(down)), to_host(c.parameter(down)))),
            5.0 / std::sqrt(64.0 * 192.0));
  const int up = ParameterRegistry::index(1, up_proj), gate = ParameterRegistry::index(1, gate_proj);
  EXPECT_LT(std::abs(cosine(to_host(a.parameter(up)), to_host(a.parameter(gate)))),
            5.0 / std::sqrt(64.0 * 192.0));
}

TEST(Llama, MisuseIsReported) {
  const LlamaShape shape = small_shape();
  Llama<float> model(shape, {.B = 2, .T = 8});
  model.initialise(1);
  const TokenRows tokens = make_tokens(9, 2, 8, shape.vocabulary);
  const Batch batch = tokens.batch(0, 2);
  EXPECT_THROW(model.backward(), RuntimeError);
  const Batch short_batch = tokens.batch(0, 1);
  EXPECT_THROW(model.forward(short_batch.tokens, short_batch.targets, 1.0f), RuntimeError);
  const Vector<const std::int32_t> outside = to_device(std::vector<std::int32_t>(16, 256));
  EXPECT_THROW(model.forward(outside, batch.targets, 1.0f), RuntimeError);
  EXPECT_THROW(model.evaluate(batch.tokens, outside), RuntimeError);
  model.forward(batch.tokens, batch.targets, 1.0f);
  EXPECT_THROW(model.forward(batch.tokens, batch.targets, 1.0f), RuntimeError);
  EXPECT_THROW(model.evaluate(batch.tokens, batch.targets), RuntimeError);
  model.backward();
  EXPECT_THROW(model.backward(), RuntimeError);
  EXPECT_THROW(Llama<double>(shape, {.B = 2, .T = 8, .compute = Compute::bf16}), UsageError);
  EXPECT_THROW(Llama<float>(shape, {.B = 0, .T = 8}), UsageError);
}

}  // namespace
}  // namespace minigift
