// The two hooks: when gradients are finished, and which inputs the linear layers saw.

#include "kernels/device/memory.hpp"
#include "kernels/format/bfloat16.hpp"
#include "tests/model/fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace minigift {
namespace {

constexpr std::int64_t B = 2;
constexpr std::int64_t T = 10;

TEST(GradientHook, EveryParameterOnceFromTheLastToTheFirstAndFinished) {
  for (const bool recompute : {false, true}) {
    const LlamaShape shape = odd_shape();
    Llama<float> model(shape, {.B = B, .T = T, .recompute = recompute});
    set_hashed_weights(model);
    const Batch batch = make_tokens(1, B, T, shape.vocabulary).batch(0, B);
    std::vector<int> order;
    std::vector<std::vector<float>> at_hook(static_cast<std::size_t>(model.registry().size()));
    model.forward(batch.tokens, batch.targets, 1.0f);
    model.backward([&](int parameter) {
      order.push_back(parameter);
      at_hook[static_cast<std::size_t>(parameter)] = to_host(model.gradient(parameter));
    });
    ASSERT_EQ(static_cast<int>(order.size()), model.registry().size());
    for (int i = 0; i < model.registry().size(); ++i) {
      EXPECT_EQ(order[static_cast<std::size_t>(i)], model.registry().size() - 1 - i);
      EXPECT_GT(norm(at_hook[static_cast<std::size_t>(i)]), 0.0) << model.registry()[i].name;
      EXPECT_EQ(at_hook[static_cast<std::size_t>(i)], to_host(model.gradient(i))) << model.registry()[i].name;
    }
  }
}

TEST(InputHook, EverySiteOncePerStepWithItsWidth) {
  for (const bool recompute : {false, true}) {
    for (const Compute compute : {Compute::fp32, Compute::bf16}) {
      const LlamaShape shape = odd_shape();
      Llama<float> model(shape, {.B = B, .T = T, .compute = compute, .recompute = recompute});
      set_hashed_weights(model);
      const Batch batch = make_tokens(2, B, T, shape.vocabulary).batch(0, B);
      std::vector<int> full, rounded;
      const auto& sites = model.registry().input_sites();
      const auto check = [&](int site, std::int64_t rows, std::int64_t columns) {
        EXPECT_EQ(rows, B * T);
        EXPECT_EQ(columns, sites[static_cast<std::size_t>(site)].width);
      };
      const InputHook<float> hook{.full =
                                      [&](int site, const Matrix<const float>& x) {
                                        full.push_back(site);
                                        check(site, extent(x, 0), extent(x, 1));
                                      },
                                  .bf16 =
                                      [&](int site, const Matrix<const bfloat16>& x) {
                                        rounded.push_back(site);
                                        check(site, extent(x, 0), extent(x, 1));
                                      }};
      model.forward(batch.tokens, batch.targets, 1.0f, hook);
      model.backward();
      std::vector<int> all;
      for (int site = 0; site < static_cast<int>(sites.size()); ++site)
        all.push_back(site);
      EXPECT_EQ(full, compute == Compute::fp32 ? all : std::vector<int>{});
      EXPECT_EQ(rounded, compute == Compute::bf16 ? all : std::vector<int>{});
      model.evaluate(batch.tokens, batch.targets);
      EXPECT_EQ(full.size() + rounded.size(), all.size());
    }
  }
}

// The gradient of a linear layer is dy^T x: each of its rows must lie in the span of the rows of x. With more
// columns than rows, a wrong x would leave a residual.
TEST(InputHook, InputsSpanTheGradientsTheyFeed) {
  LlamaShape shape = small_shape();
  Llama<double> model(shape, {.B = 1, .T = 12});
  set_hashed_weights(model);
  const Batch batch = make_tokens(3, 1, 12, shape.vocabulary).batch(0, 1);
  std::vector<std::vector<double>> inputs(model.registry().input_sites().size());
  const InputHook<double> hook{.full =
                                   [&](int site, const Matrix<const double>& x) {
                                     const Matrix<double> copy("copy", x.extent(0), x.extent(1));
                                     Kokkos::deep_copy(copy, x);
                                     inputs[static_cast<std::size_t>(site)] = to_host(copy);
                                   },
                               .bf16 = {}};
  model.forward(batch.tokens, batch.targets, 1.0, hook);
  model.backward();
  for (int index = 0; index < model.registry().size(); ++index) {
    const Parameter& parameter = model.registry()[index];
    if (parameter.input_site < 0) continue;
    const auto columns = static_cast<std::size_t>(parameter.columns);
    std::vector<double> basis = inputs[static_cast<std::size_t>(parameter.input_site)];
    std::vector<double> gradient = to_host(model.gradient(index));
    const double before = norm(gradient);
    const auto project_out = [columns](const double* direction, double* row) {
      double dot = 0.0;
      for (std::size_t c = 0; c < columns; ++c)
        dot += direction[c] * row[c];
      for (std::size_t c = 0; c < columns; ++c)
        row[c] -= dot * direction[c];
    };
    // Modified Gram-Schmidt, twice for accuracy, then remove the span from every gradient row.
    const std::size_t rows = basis.size() / columns;
    for (std::size_t r = 0; r < rows; ++r) {
      double* row = &basis[r * columns];
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t previous = 0; previous < r; ++previous)
          project_out(&basis[previous * columns], row);
      double length = 0.0;
      for (std::size_t c = 0; c < columns; ++c)
        length += row[c] * row[c];
      for (std::size_t c = 0; c < columns; ++c)
        row[c] /= std::sqrt(length);
    }
    for (std::size_t g = 0; g < gradient.size() / columns; ++g)
      for (std::size_t r = 0; r < rows; ++r)
        project_out(&basis[r * columns], &gradient[g * columns]);
    EXPECT_LT(norm(gradient), 1e-10 * before) << parameter.name;
  }
}

// With x from the input hook and dy from the output hook, dy^T x is the gradient of the weight between them.
TEST(OutputHook, OutputGradientsTimesInputsAreTheWeightGradients) {
  for (const bool recompute : {false, true}) {
    const LlamaShape shape = odd_shape();
    Llama<double> model(shape, {.B = B, .T = T, .recompute = recompute});
    set_hashed_weights(model);
    const Batch batch = make_tokens(4, B, T, shape.vocabulary).batch(0, B);
    std::vector<HostMatrix<double>> inputs(model.registry().input_sites().size());
    const InputHook<double> see_input{
        .full = [&](int site,
                    const Matrix<const double>& x) { inputs[static_cast<std::size_t>(site)] = on_host(x); },
        .bf16 = {}};
    int linear_layers = 0;
    std::vector<HostMatrix<double>> outputs(static_cast<std::size_t>(model.registry().size()));
    const OutputHook<double> see_output{.full =
                                            [&](int parameter, const Matrix<const double>& dy) {
                                              outputs[static_cast<std::size_t>(parameter)] = on_host(dy);
                                              ++linear_layers;
                                            },
                                        .bf16 = {}};
    model.forward(batch.tokens, batch.targets, 0.5, see_input);
    model.backward({}, see_output);
    int hidden_matrices = 0;
    for (int index = 0; index < model.registry().size(); ++index) {
      const Parameter& parameter = model.registry()[index];
      if (!is_hidden_matrix(parameter.role)) continue;
      ++hidden_matrices;
      const auto& dy = outputs[static_cast<std::size_t>(index)];
      const auto& x = inputs[static_cast<std::size_t>(parameter.input_site)];
      ASSERT_EQ(extent(dy, 0), B * T) << parameter.name;
      ASSERT_EQ(extent(dy, 1), parameter.rows) << parameter.name;
      const HostMatrix<double> w = on_host(model.gradient(index));
      const double scale = norm(to_host(model.gradient(index)));
      for (std::int64_t i = 0; i < parameter.rows; ++i)
        for (std::int64_t j = 0; j < parameter.columns; ++j) {
          double sum = 0.0;
          for (std::int64_t r = 0; r < B * T; ++r)
            sum += dy(r, i) * x(r, j);
          ASSERT_NEAR(sum, w(i, j), 1e-12 * scale) << parameter.name;
        }
    }
    EXPECT_EQ(linear_layers, hidden_matrices);
  }
}

}  // namespace
}  // namespace minigift
