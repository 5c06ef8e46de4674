#include "kernels/error.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/nn/swiglu.hpp"
#include "kernels/reference/swiglu.hpp"
#include "tests/kernels/nn_support.hpp"

namespace minigift {
namespace {

using namespace test;

struct Shape {
  std::int64_t R, F;
};
const std::vector<Shape> shapes{{1, 1}, {7, 13}, {40, 111}};  // the last spans two pieces of the flat loop

template <class S>
class Swiglu : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Swiglu, Scalars);

// The exponential is within 2 ulp = 4 u, the sum and the quotient add one u each: the sigmoid is within 6 u.
TYPED_TEST(Swiglu, MatchesReference) {
  using S = TypeParam;
  const double u = unit_roundoff<S>;
  for (const Shape& shape : shapes) {
    const std::int64_t R = shape.R, F = shape.F;
    const Sample<S> gate(R * F, 1, 4.0), up(R * F, 2), d_out(R * F, 3);
    const Matrix<S> g = to_matrix(gate.values, R, F), up_view = to_matrix(up.values, R, F),
                    out("out", g.extent(0), g.extent(1)), d_gate("d_gate", g.extent(0), g.extent(1)),
                    d_up("d_up", g.extent(0), g.extent(1));
    swiglu_forward<S>(g, up_view, out);
    const auto out_exact = reference::swiglu_forward(gate.exact, up.exact);
    std::vector<double> bound;
    for (const double value : out_exact)
      bound.push_back(9 * u * std::abs(value));
    expect_within(values_of(out), out_exact, bound);

    swiglu_backward(g, up_view, to_matrix(d_out.values, R, F), d_gate, d_up);
    const auto exact = reference::swiglu_backward(gate.exact, up.exact, d_out.exact);
    std::vector<double> gate_bound, up_bound;
    for (std::size_t i = 0; i < exact.d_up.size(); ++i) {
      const double x = gate.exact[i], sigmoid = 1 / (1 + std::exp(-x));
      up_bound.push_back(9 * u * std::abs(exact.d_up[i]));
      // 1 - sigmoid has an absolute error of up to 7 u, which gate multiplies.
      const double factor = std::abs(d_out.exact[i] * up.exact[i]) * sigmoid;
      gate_bound.push_back(u * (10 * std::abs(exact.d_gate[i]) + factor * (9 * std::abs(x) + 2)));
    }
    expect_within(values_of(d_gate), exact.d_gate, gate_bound);
    expect_within(values_of(d_up), exact.d_up, up_bound);

    // In place: the gradients over the inputs.
    const auto d_gate_values = values_of(d_gate), d_up_values = values_of(d_up);
    swiglu_backward(g, up_view, to_matrix(d_out.values, R, F), g, up_view);
    EXPECT_TRUE(same_bits(values_of(g), d_gate_values));
    EXPECT_TRUE(same_bits(values_of(up_view), d_up_values));
  }
}

TEST(SwigluGradient, FiniteDifferences) {
  constexpr std::int64_t R = 5, F = 7;
  const auto gate = gaussian<double>(R * F, 1), up = gaussian<double>(R * F, 2),
             c = gaussian<double>(R * F, 3);
  const auto loss = [&](const std::vector<double>& gate_values, const std::vector<double>& up_values) {
    const Matrix<double> out("out", R, F);
    swiglu_forward<double>(to_matrix(gate_values, R, F), to_matrix(up_values, R, F), out);
    return dot(values_of(out), c);
  };
  const Matrix<double> d_gate("d_gate", R, F), d_up("d_up", R, F);
  swiglu_backward(to_matrix(gate, R, F), to_matrix(up, R, F), to_matrix(c, R, F), d_gate, d_up);
  expect_gradient(values_of(d_gate), numerical_gradient(gate, [&](const auto& x) { return loss(x, up); }));
  expect_gradient(values_of(d_up), numerical_gradient(up, [&](const auto& x) { return loss(gate, x); }));
}

TEST(SwigluExtremes, LargeGatesSaturateAndNanStays) {
  const auto gate = to_matrix(std::vector<float>{-200, 200, std::nanf(""), 0}, 1, 4);
  const auto up = to_matrix(std::vector<float>{1, 1, 1, 1}, 1, 4);
  const Matrix<float> out("out", 1, 4), d_gate("d_gate", 1, 4), d_up("d_up", 1, 4);
  swiglu_forward<float>(gate, up, out);
  swiglu_backward(gate, up, up, d_gate, d_up);
  const auto y = values_of(out), dg = values_of(d_gate), du = values_of(d_up);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 200.0f);
  EXPECT_EQ(dg[0], 0.0f);
  EXPECT_EQ(dg[1], 1.0f);
  EXPECT_EQ(dg[3], 0.5f);
  EXPECT_TRUE(std::isnan(y[2]) && std::isnan(dg[2]) && std::isnan(du[2]));
}

TEST(SwigluBfloat16, IsTheRoundedFloatResult) {
  constexpr std::int64_t R = 9, F = 37;
  const auto gate = to_matrix(gaussian<float>(R * F, 1), R, F),
             up = to_matrix(gaussian<float>(R * F, 2), R, F);
  const Matrix<float> out("out", R, F);
  const Matrix<bfloat16> out_bfloat16("out", R, F);
  swiglu_forward<float>(gate, up, out);
  swiglu_forward<float>(gate, up, out_bfloat16);
  const auto exact = values_of(out);
  const auto rounded = values_of(out_bfloat16);
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_EQ(rounded[i].bits, to_bfloat16(exact[i]).bits);
}

TEST(SwigluErrors, NoRowsAndWrongShape) {
  const Matrix<float> none("none", 0, 4), wrong("wrong", 0, 5);
  swiglu_forward<float>(none, none, none);
  swiglu_backward(none, none, none, none, none);
  EXPECT_THROW(swiglu_forward<float>(none, wrong, none), RuntimeError);
}

}  // namespace
}  // namespace minigift
