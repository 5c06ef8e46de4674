#include "kernels/error.hpp"
#include "tests/kernels/nn_attention_support.hpp"

namespace minigift {
namespace {

using namespace test;

template <class S>
class Attention : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Attention, Scalars);

TYPED_TEST(Attention, ForwardMatchesReference) {
  for (const AttentionShape& shape : attention_shapes) {
    const AttentionCase<TypeParam> data(shape);
    data.forward();
    const auto exact = reference::attention_forward(shape, data.q.exact, data.k.exact, data.v.exact);
    const auto bound = attention_bounds(shape, unit_roundoff<TypeParam>, data.q.exact, data.k.exact,
                                        data.v.exact, data.d_out.exact);
    expect_within(values_of(data.out), exact.out, bound.out);
    expect_within(values_of(data.log_sum_exp), exact.log_sum_exp, bound.log_sum_exp);
  }
}

TYPED_TEST(Attention, LongSequenceOfLargeScores) {
  // Scores of standard deviation 20: the running maximum moves by much, from tile to tile.
  const AttentionShape shape{1, 1000, 1, 1, 16};
  const AttentionCase<TypeParam> data(shape, 5, std::sqrt(20.0));
  data.forward();
  const auto exact = reference::attention_forward(shape, data.q.exact, data.k.exact, data.v.exact);
  const auto bound = attention_bounds(shape, unit_roundoff<TypeParam>, data.q.exact, data.k.exact,
                                      data.v.exact, data.d_out.exact);
  expect_within(values_of(data.out), exact.out, bound.out);
  expect_within(values_of(data.log_sum_exp), exact.log_sum_exp, bound.log_sum_exp);
}

/// Copies each key/value head of rows (R, H_kv*D) as often as there are query heads in its group.
template <class S>
std::vector<S> repeated(const std::vector<S>& rows, const AttentionShape& shape) {
  std::vector<S> result;
  for (std::int64_t r = 0; r < shape.B * shape.T; ++r)
    for (std::int64_t h = 0; h < shape.H; ++h)
      for (std::int64_t d = 0; d < shape.D; ++d)
        result.push_back(
            rows[static_cast<std::size_t>((r * shape.H_kv + h / (shape.H / shape.H_kv)) * shape.D + d)]);
  return result;
}

TYPED_TEST(Attention, SharedHeadsEqualRepeatedHeads) {
  using S = TypeParam;
  const AttentionShape shared{2, 75, 6, 2, 32}, full{2, 75, 6, 6, 32};
  const AttentionCase<S> data(shared);
  data.forward();
  const Matrix<S> k = to_matrix(repeated(data.k.values, shared), data.R, data.q_width),
                  v = to_matrix(repeated(data.v.values, shared), data.R, data.q_width);
  const auto out = AttentionCase<S>::poisoned(data.R, data.q_width);
  const auto log_sum_exp = AttentionCase<S>::poisoned(shared.B * shared.H, shared.T);
  attention_forward(full, data.q_view, k, v, out, log_sum_exp);
  EXPECT_TRUE(same_bits(values_of(out), values_of(data.out)));
  EXPECT_TRUE(same_bits(values_of(log_sum_exp), values_of(data.log_sum_exp)));

  // The gradient of a shared head is the sum over its copies.
  data.backward();
  const Matrix<S> d_q = AttentionCase<S>::poisoned(data.R, data.q_width), d_k = clone(d_q), d_v = clone(d_q);
  attention_backward(full, data.q_view, k, v, out, log_sum_exp, data.d_out_view, d_q, d_k, d_v);
  EXPECT_TRUE(same_bits(values_of(d_q), values_of(data.d_q)));
  const std::int64_t group = shared.H / shared.H_kv;
  for (const bool keys : {true, false}) {
    const auto copies = to_double(values_of(keys ? d_k : d_v));
    std::vector<double> sum(static_cast<std::size_t>(data.R * data.kv_width), 0.0), bound(sum.size(), 1e-30);
    for (std::int64_t r = 0; r < data.R; ++r)
      for (std::int64_t h = 0; h < shared.H; ++h)
        for (std::int64_t d = 0; d < shared.D; ++d) {
          const auto to = static_cast<std::size_t>((r * shared.H_kv + h / group) * shared.D + d);
          const double term = copies[static_cast<std::size_t>((r * shared.H + h) * shared.D + d)];
          sum[to] += term;
          // At most three heads of two tiles each are added, in another order; partial sums stay below 64.
          bound[to] = 12 * unit_roundoff<S> * 64;
        }
    expect_within(values_of(keys ? data.d_k : data.d_v), sum, bound);
  }
}

TEST(AttentionCausality, AFutureTokenChangesNoEarlierBit) {
  const AttentionShape shape{1, 150, 2, 1, 16};
  for (const std::int64_t changed : {1, 63, 64, 100, 149}) {
    const AttentionCase<float> data(shape);
    data.forward();
    const auto before = values_of(data.out), lse_before = values_of(data.log_sum_exp);
    const auto edit = [&](const std::vector<float>& values, std::int64_t width) {
      std::vector<float> edited = values;
      for (std::int64_t c = 0; c < width; ++c)
        edited[static_cast<std::size_t>(changed * width + c)] += 3;
      return to_matrix(edited, shape.T, width);
    };
    attention_forward(shape, edit(data.q.values, data.q_width), edit(data.k.values, data.kv_width),
                      edit(data.v.values, data.kv_width), data.out, data.log_sum_exp);
    const auto after = values_of(data.out), lse_after = values_of(data.log_sum_exp);
    const auto cut = static_cast<std::ptrdiff_t>(changed * data.q_width);
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + cut, after.begin()));
    for (std::int64_t r = changed; r < shape.T; ++r)  // and every later row does see it
      EXPECT_NE(before[static_cast<std::size_t>(r * data.q_width)],
                after[static_cast<std::size_t>(r * data.q_width)]);
    for (std::int64_t h = 0; h < shape.H; ++h)
      for (std::int64_t t = 0; t < changed; ++t) {
        const auto at = static_cast<std::size_t>(h * shape.T + t);
        EXPECT_EQ(lse_before[at], lse_after[at]);
      }
  }
}

TEST(AttentionSoftmax, ProbabilitiesSumToOne) {
  // With v = 1 the output is the sum of the probabilities; with v a unit vector it is one probability, which
  // log_sum_exp must reproduce.
  const AttentionShape shape{1, 140, 1, 1, 16};
  const AttentionCase<double> data(shape);
  Kokkos::deep_copy(data.v_view, 1.0);
  data.forward();
  for (const double sum : values_of(data.out))
    EXPECT_NEAR(sum, 1.0, 1e-13);

  const auto lse = values_of(data.log_sum_exp);
  for (const std::int64_t s : {std::int64_t{0}, std::int64_t{70}, std::int64_t{139}}) {
    std::vector<double> v(data.v.values.size(), 0.0);
    v[static_cast<std::size_t>(s * shape.D)] = 1;
    attention_forward(shape, data.q_view, data.k_view, to_matrix(v, shape.T, shape.D), data.out,
                      data.log_sum_exp);
    const auto out = values_of(data.out);
    for (std::int64_t t = 0; t < shape.T; ++t) {
      double score = 0;
      for (std::int64_t d = 0; d < shape.D; ++d)
        score += data.q.exact[static_cast<std::size_t>(t * shape.D + d)] *
                 data.k.exact[static_cast<std::size_t>(s * shape.D + d)] / 4;
      const double expected = s <= t ? std::exp(score - lse[static_cast<std::size_t>(t)]) : 0.0;
      EXPECT_NEAR(out[static_cast<std::size_t>(t * shape.D)], expected, 1e-13);
    }
  }
}

TEST(AttentionNonFinite, IsNeitherHiddenNorSpreadToEarlierTokens) {
  const AttentionShape shape{1, 100, 1, 1, 32};
  const float bad[] = {std::nanf(""), std::numeric_limits<float>::infinity()};
  for (const float value : bad) {
    for (const int which : {0, 1, 2}) {
      AttentionCase<float> data(shape);
      std::vector<float> values = which == 0 ? data.q.values : which == 1 ? data.k.values : data.v.values;
      values[static_cast<std::size_t>(40 * shape.D + 3)] = value;
      Kokkos::deep_copy(which == 0   ? data.q_view
                        : which == 1 ? data.k_view
                                     : data.v_view,
                        to_matrix(values, shape.T, shape.D));
      data.forward();
      const auto out = values_of(data.out);
      // An infinite key makes scores of either sign: weight zero for some queries, NaN for others.
      std::int64_t affected = 0;
      for (auto i = static_cast<std::size_t>(40 * shape.D); i < out.size(); ++i)
        affected += !std::isfinite(out[i]);
      EXPECT_GT(affected, 0) << which << " " << value;
      for (std::int64_t t = 0; t < 32; ++t)  // rows well before it stay clean
        EXPECT_TRUE(std::isfinite(out[static_cast<std::size_t>(t * shape.D + 3)]));
    }
  }
}

TEST(AttentionErrors, EmptyAndImpossible) {
  const AttentionCase<float> none({0, 8, 2, 1, 16}), no_length({2, 0, 2, 1, 16});
  none.forward();
  none.backward();
  no_length.forward();
  no_length.backward();
  const AttentionCase<float> data({1, 8, 3, 3, 16});
  const Matrix<float>&q = data.q_view, &k = data.k_view, &v = data.v_view;
  EXPECT_THROW(attention_forward({1, 8, 3, 2, 16}, q, k, v, data.out, data.log_sum_exp), RuntimeError);
  EXPECT_THROW(attention_forward({1, 9, 3, 3, 16}, q, k, v, data.out, data.log_sum_exp), RuntimeError);
  EXPECT_THROW(attention_forward({1, 8, 3, 1, 16}, q, k, v, data.out, data.log_sum_exp), RuntimeError);
  EXPECT_THROW(attention_forward({1, 8, 3, 3, 16}, q, k, v, data.out, data.out), RuntimeError);
  const AttentionCase<float> too_wide({1, 1, 1, 1, 1 << 20});  // needs more scratch memory than there is
  EXPECT_THROW(too_wide.forward(), RuntimeError);
}

}  // namespace
}  // namespace minigift
