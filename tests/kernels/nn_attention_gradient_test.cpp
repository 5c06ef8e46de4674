#include "tests/kernels/nn_attention_support.hpp"

namespace minigift {
namespace {

using namespace test;

template <class S>
class AttentionGradient : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionGradient, Scalars);

TYPED_TEST(AttentionGradient, MatchesReference) {
  for (const AttentionShape& shape : attention_shapes) {
    const AttentionCase<TypeParam> data(shape);
    data.forward();
    data.backward();
    const auto exact =
        reference::attention_backward(shape, data.q.exact, data.k.exact, data.v.exact, data.d_out.exact);
    const auto bound = attention_bounds(shape, unit_roundoff<TypeParam>, data.q.exact, data.k.exact,
                                        data.v.exact, data.d_out.exact);
    expect_within(values_of(data.d_q), exact.d_q, bound.d_q);
    expect_within(values_of(data.d_k), exact.d_k, bound.d_k);
    expect_within(values_of(data.d_v), exact.d_v, bound.d_v);
  }
}

/// All entries of q, k and v against differences of the forward pass.
void check_differences(const AttentionShape& shape) {
  const AttentionCase<double> data(shape, 3, 1.0);
  data.forward();
  data.backward();
  const auto loss = [&](const std::vector<double>& q, const std::vector<double>& k,
                        const std::vector<double>& v) {
    attention_forward(shape, to_matrix(q, data.R, data.q_width), to_matrix(k, data.R, data.kv_width),
                      to_matrix(v, data.R, data.kv_width), data.out, data.log_sum_exp);
    return dot(values_of(data.out), data.d_out.exact);
  };
  const auto &q = data.q.exact, &k = data.k.exact, &v = data.v.exact;
  expect_gradient(values_of(data.d_q), numerical_gradient(q, [&](const auto& x) { return loss(x, k, v); }));
  expect_gradient(values_of(data.d_k), numerical_gradient(k, [&](const auto& x) { return loss(q, x, v); }));
  expect_gradient(values_of(data.d_v), numerical_gradient(v, [&](const auto& x) { return loss(q, k, x); }));
}

TEST(AttentionDifferences, SeveralSequencesAndSharedHeads) {
  check_differences({2, 6, 4, 2, 6});
}
TEST(AttentionDifferences, TwoTiles) {
  check_differences({1, 68, 2, 1, 2});
}

TEST(AttentionRepeat, SameBits) {
  const AttentionShape shape{2, 200, 4, 2, 64};
  const AttentionCase<float> first(shape), second(shape);
  for (const auto* data : {&first, &second}) {
    data->forward();
    data->backward();
  }
  EXPECT_TRUE(same_bits(values_of(first.out), values_of(second.out)));
  EXPECT_TRUE(same_bits(values_of(first.d_q), values_of(second.d_q)));
  EXPECT_TRUE(same_bits(values_of(first.d_k), values_of(second.d_k)));
  EXPECT_TRUE(same_bits(values_of(first.d_v), values_of(second.d_v)));
}

TEST(AttentionGradientProperties, ConstantValuesGiveNoScoreGradient) {
  // If every value row is the same, the output does not depend on the scores.
  const AttentionShape shape{1, 90, 1, 1, 32};
  const AttentionCase<double> data(shape);
  Kokkos::deep_copy(data.v_view, 0.75);
  data.forward();
  data.backward();
  for (const auto& gradient : {values_of(data.d_q), values_of(data.d_k)})
    for (const double value : gradient)
      EXPECT_NEAR(value, 0.0, 1e-12);
  // Every probability row sums to one, so d_v summed over keys is d_out summed over queries.
  const auto d_v = values_of(data.d_v);
  for (std::int64_t d = 0; d < shape.D; ++d) {
    double from_values = 0, from_outputs = 0;
    for (std::int64_t t = 0; t < shape.T; ++t) {
      from_values += d_v[static_cast<std::size_t>(t * shape.D + d)];
      from_outputs += data.d_out.exact[static_cast<std::size_t>(t * shape.D + d)];
    }
    EXPECT_NEAR(from_values, from_outputs, 1e-11);
  }
}

}  // namespace
}  // namespace minigift
