#include "kernels/error.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/nn/rms_norm.hpp"
#include "kernels/reference/rms_norm.hpp"
#include "tests/kernels/nn_support.hpp"

namespace minigift {
namespace {

using namespace test;

constexpr double epsilon = 1e-5;

struct Shape {
  std::int64_t R, C;
};
const std::vector<Shape> shapes{{1, 1}, {3, 5}, {17, 64}, {300, 33}, {2, 3000}};

/// Relative error of inverse_rms * x: the C squares and their sum give (C + 1) u, mean and epsilon 2 u, the
/// root halves that; root, division and product with x round once each.
template <class S>
double normalised_error(std::int64_t C) {
  return (static_cast<double>(C + 3) / 2 + 4) * unit_roundoff<S>;
}

template <class S>
class RmsNorm : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RmsNorm, Scalars);

TYPED_TEST(RmsNorm, ForwardMatchesReference) {
  using S = TypeParam;
  for (const Shape& shape : shapes) {
    const Sample<S> x(shape.R * shape.C, 1, 3.0), w(shape.C, 2);
    const auto R = static_cast<std::size_t>(shape.R), C = static_cast<std::size_t>(shape.C);
    const Matrix<S> y("y", R, C);
    const Vector<S> inverse_rms("inverse_rms", R);
    const S float_epsilon = static_cast<S>(epsilon);
    rms_norm_forward(to_matrix(x.values, shape.R, shape.C), to_vector(w.values), float_epsilon, y,
                     inverse_rms);
    const auto expected =
        reference::rms_norm_forward(R, C, x.exact, w.exact, static_cast<double>(float_epsilon));
    std::vector<double> y_bound, inverse_bound;
    for (const double value : expected.y)
      y_bound.push_back((normalised_error<S>(shape.C) + unit_roundoff<S>)*std::abs(value));
    for (const double value : expected.inverse_rms)
      inverse_bound.push_back(normalised_error<S>(shape.C) * value);
    expect_within(values_of(y), expected.y, y_bound);
    expect_within(values_of(inverse_rms), expected.inverse_rms, inverse_bound);
  }
}

TYPED_TEST(RmsNorm, BackwardMatchesReferenceAndAccumulates) {
  using S = TypeParam;
  const double u = unit_roundoff<S>;
  for (const Shape& shape : shapes) {
    const Sample<S> x(shape.R * shape.C, 1, 3.0), w(shape.C, 2), dy(shape.R * shape.C, 3),
        dx0(shape.R * shape.C, 4), dw0(shape.C, 5);
    const auto R = static_cast<std::size_t>(shape.R), C = static_cast<std::size_t>(shape.C);
    const auto forward = reference::rms_norm_forward(R, C, x.exact, w.exact, epsilon);
    const std::vector<S> inverse(forward.inverse_rms.begin(), forward.inverse_rms.end());
    const Matrix<S> dx = to_matrix(dx0.values, shape.R, shape.C);
    const Vector<S> dw = to_vector(dw0.values);
    rms_norm_backward(to_matrix(x.values, shape.R, shape.C), to_vector(w.values), to_vector(inverse),
                      to_matrix(dy.values, shape.R, shape.C), dx, dw);
    auto expected = reference::rms_norm_backward(R, C, x.exact, w.exact, to_double(inverse), dy.exact);

    // Terms of each sum, in magnitude. In dx: inverse*g with 4 roundings, inverse*n*mean(g n) with the C + 7
    // of the mean and its factors, and the final additions. In dw: R + 4 roundings of the sum of |dy n|.
    std::vector<double> dx_bound, dw_bound(C, 0.0);
    for (std::size_t r = 0; r < R; ++r) {
      const double i = static_cast<double>(inverse[r]);
      double mean = 0;
      for (std::size_t c = 0; c < C; ++c)
        mean += std::abs(w.exact[c] * dy.exact[r * C + c] * x.exact[r * C + c] * i) / static_cast<double>(C);
      for (std::size_t c = 0; c < C; ++c) {
        const std::size_t at = r * C + c;
        const double n = std::abs(x.exact[at] * i), g = std::abs(w.exact[c] * dy.exact[at]);
        dx_bound.push_back(u * (i * (5 * g + static_cast<double>(shape.C + 10) * n * mean) +
                                std::abs(dx0.exact[at] + expected.dx[at])));
        dw_bound[c] += u * static_cast<double>(shape.R + 5) * std::abs(dy.exact[at]) * n;
        expected.dx[at] += dx0.exact[at];
      }
    }
    for (std::size_t c = 0; c < C; ++c) {
      expected.dw[c] += dw0.exact[c];
      dw_bound[c] += u * static_cast<double>(shape.R + 5) * std::abs(dw0.exact[c]);
    }
    expect_within(values_of(dx), expected.dx, dx_bound);
    expect_within(values_of(dw), expected.dw, dw_bound);
  }
}

TEST(RmsNormGradient, FiniteDifferences) {
  constexpr std::int64_t R = 19, C = 6;  // two blocks of rows
  const auto x = gaussian<double>(R * C, 1), w = gaussian<double>(C, 2), c = gaussian<double>(R * C, 3);
  const Vector<double> inverse_rms("inverse_rms", R);
  const auto loss = [&](const std::vector<double>& x_values, const std::vector<double>& w_values) {
    const Matrix<double> y("y", R, C);
    rms_norm_forward(to_matrix(x_values, R, C), to_vector(w_values), epsilon, y, inverse_rms);
    return dot(values_of(y), c);
  };
  loss(x, w);
  const Matrix<double> dx("dx", R, C);
  const Vector<double> dw("dw", C);
  rms_norm_backward(to_matrix(x, R, C), to_vector(w), inverse_rms, to_matrix(c, R, C), dx, dw);
  expect_gradient(values_of(dx), numerical_gradient(x, [&](const auto& values) { return loss(values, w); }));
  expect_gradient(values_of(dw), numerical_gradient(w, [&](const auto& values) { return loss(x, values); }));
}

TEST(RmsNormBfloat16, IsTheRoundedFloatResult) {
  constexpr std::int64_t R = 9, C = 37;
  const auto x = to_matrix(gaussian<float>(R * C, 1), R, C);
  const auto w = to_vector(gaussian<float>(C, 2));
  const Matrix<float> y("y", R, C);
  const Matrix<bfloat16> y_bfloat16("y", R, C);
  const Vector<float> inverse_rms("inverse_rms", R);
  rms_norm_forward(x, w, 1e-5f, y, inverse_rms);
  rms_norm_forward(x, w, 1e-5f, y_bfloat16, inverse_rms);
  const auto exact = values_of(y);
  const auto rounded = values_of(y_bfloat16);
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_EQ(rounded[i].bits, to_bfloat16(exact[i]).bits);
}

TEST(RmsNormRepeat, SameBits) {
  constexpr std::int64_t R = 1000, C = 48;
  const auto x = to_matrix(gaussian<float>(R * C, 1), R, C), dy = to_matrix(gaussian<float>(R * C, 2), R, C);
  const auto w = to_vector(gaussian<float>(C, 3)), inverse = to_vector(std::vector<float>(R, 1.0f));
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    const Matrix<float> dx("dx", R, C);
    const Vector<float> dw("dw", C);
    rms_norm_backward(x, w, inverse, dy, dx, dw);
    auto bits = values_of(dx);
    const auto weight = values_of(dw);
    bits.insert(bits.end(), weight.begin(), weight.end());
    if (run == 0) first = bits;
    EXPECT_TRUE(same_bits(first, bits));
  }
}

TEST(RmsNormErrors, NoRowsWrongShapeAndNan) {
  const Matrix<float> none("none", 0, 4), y("y", 0, 4), wrong("wrong", 0, 5);
  const Vector<float> w("w", 4), inverse("inverse", 0), dw("dw", 4);
  rms_norm_forward(none, w, 1e-5f, y, inverse);
  rms_norm_backward(none, w, inverse, y, y, dw);
  EXPECT_EQ(values_of(dw), std::vector<float>(4, 0.0f));
  EXPECT_THROW(rms_norm_forward(none, w, 1e-5f, wrong, inverse), RuntimeError);

  const auto x = to_matrix(std::vector<float>{1, std::nanf(""), 2, 3}, 1, 4);
  const Matrix<float> out("out", 1, 4);
  const Vector<float> one("one", 1);
  rms_norm_forward(x, w, 1e-5f, out, one);
  for (const float value : values_of(out))
    EXPECT_TRUE(std::isnan(value));
}

TEST(ResidualAdd, AddsAlsoInPlace) {
  constexpr std::int64_t R = 130, C = 65;  // more than one piece of the flat loop
  const auto a = gaussian<float>(R * C, 1), b = gaussian<float>(R * C, 2);
  std::vector<float> expected;
  for (std::size_t i = 0; i < a.size(); ++i)
    expected.push_back(a[i] + b[i]);
  const Matrix<float> left = to_matrix(a, R, C), sum("sum", R, C);
  residual_add(left, to_matrix(b, R, C), sum);
  EXPECT_TRUE(same_bits(values_of(sum), expected));
  residual_add(left, to_matrix(b, R, C), left);
  EXPECT_TRUE(same_bits(values_of(left), expected));
}

}  // namespace
}  // namespace minigift
