// The whole model's gradient against finite differences in double precision, tensor by tensor.

#include "tests/model/fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace minigift {
namespace {

/// Changes one tensor of the model to w0 + h*direction.
void displace(Llama<double>& model, int index, const std::vector<double>& w0,
              const std::vector<double>& direction, double h) {
  const Matrix<double> tensor = model.parameter(index);
  const auto host = Kokkos::create_mirror_view(tensor);
  const auto columns = tensor.extent(1);
  for (std::size_t i = 0; i < w0.size(); ++i)
    host(i / columns, i % columns) = w0[i] + h * direction[i];
  Kokkos::deep_copy(tensor, host);
  model.parameters_changed();
}

/// Derivative of the loss along `direction`: five-point stencil, error O(h^4).
double derivative(Llama<double>& model, int index, const std::vector<double>& direction, const Batch& batch) {
  const std::vector<double> w0 = to_host(model.parameter(index));
  const double h = 1e-3;
  const auto loss = [&](double step) {
    displace(model, index, w0, direction, step);
    return model.evaluate(batch.tokens, batch.targets);
  };
  const double slope = (8.0 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12.0 * h);
  displace(model, index, w0, direction, 0.0);
  return slope;
}

/// A unit vector with entries of both signs.
std::vector<double> random_direction(std::int64_t stream, std::size_t count) {
  std::vector<double> direction(count);
  for (std::size_t i = 0; i < count; ++i)
    direction[i] = hash_uniform(stream, static_cast<std::int64_t>(i));
  const double length = norm(direction);
  for (double& value : direction)
    value /= length;
  return direction;
}

void check_every_tensor(const LlamaShape& shape, std::int64_t B, std::int64_t T) {
  Llama<double> model(shape, {.B = B, .T = T});
  set_hashed_weights(model);
  const TokenRows tokens = make_tokens(7000, B, T, shape.vocabulary);
  const Batch batch = tokens.batch(0, B);
  const double scale = 0.75;  // backward must scale the gradient, and only the gradient
  model.zero_gradients();
  const double loss = model.forward(batch.tokens, batch.targets, scale);
  model.backward();
  EXPECT_EQ(loss, model.evaluate(batch.tokens, batch.targets));

  for (int index = 0; index < model.registry().size(); ++index) {
    const std::vector<double> gradient = to_host(model.gradient(index));
    for (std::int64_t trial = 0; trial < 2; ++trial) {
      const std::vector<double> direction = random_direction(8000 + 2 * index + trial, gradient.size());
      double analytic = 0.0;
      for (std::size_t i = 0; i < gradient.size(); ++i)
        analytic += gradient[i] * direction[i];
      const double numeric = scale * derivative(model, index, direction, batch);
      ASSERT_NE(numeric, 0.0) << model.registry()[index].name;
      EXPECT_LT(std::abs(analytic - numeric), 1e-6 * std::abs(numeric))
          << model.registry()[index].name << ": " << analytic << " against " << numeric;
    }
  }
}

TEST(FiniteDifferences, EveryTensorOfASmallModel) {
  check_every_tensor(small_shape(), 2, 16);
}

TEST(FiniteDifferences, GroupedQueriesAndOddExtents) {
  check_every_tensor(odd_shape(), 3, 13);
}

TEST(FiniteDifferences, OneTokenOneLayerOneHead) {
  check_every_tensor(
      {.layers = 1, .hidden = 8, .heads = 1, .kv_heads = 1, .feed_forward = 6, .vocabulary = 5}, 4, 2);
}

}  // namespace
}  // namespace minigift
