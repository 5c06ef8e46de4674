#include "kernels/error.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/nn/linear.hpp"
#include "kernels/reference/linear.hpp"
#include "tests/kernels/nn_support.hpp"

namespace minigift {
namespace {

using namespace test;

struct Shape {
  std::int64_t R, C_in, C_out;
};
const std::vector<Shape> shapes{{1, 1, 1}, {5, 7, 3}, {33, 16, 40}, {64, 65, 31}};

std::vector<double> magnitude(const std::vector<double>& values) {
  std::vector<double> result;
  for (const double value : values)
    result.push_back(std::abs(value));
  return result;
}

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values)
    value *= factor;
  return values;
}

/// A sum of n products has an error of at most (n + 1) u times the sum of their magnitudes.
template <class In, class S>
void compare(const Shape& shape, const std::vector<In>& x, const std::vector<In>& w,
             const std::vector<In>& dy, const std::vector<double>& x_exact,
             const std::vector<double>& w_exact, const std::vector<double>& dy_exact) {
  const auto R = static_cast<std::size_t>(shape.R), C_in = static_cast<std::size_t>(shape.C_in),
             C_out = static_cast<std::size_t>(shape.C_out);
  const Matrix<const In> x_view = to_matrix(x, shape.R, shape.C_in),
                         w_view = to_matrix(w, shape.C_out, shape.C_in),
                         dy_view = to_matrix(dy, shape.R, shape.C_out);
  const double u = unit_roundoff<S>;
  const auto bound = [&](std::vector<double> sums, std::size_t terms) {
    return scaled(std::move(sums), static_cast<double>(terms + 2) * u);
  };
  const std::vector<double> xa = magnitude(x_exact), wa = magnitude(w_exact), dya = magnitude(dy_exact);

  const Matrix<S> y("y", R, C_out);
  linear_forward<In>(x_view, w_view, y);
  expect_within(values_of(y), reference::linear_forward(R, C_in, C_out, x_exact, w_exact),
                bound(reference::linear_forward(R, C_in, C_out, xa, wa), C_in));

  // beta = 0 must not read what was there.
  const Matrix<S> dx("dx", R, C_in);
  Kokkos::deep_copy(dx, std::numeric_limits<S>::quiet_NaN());
  linear_backward_input<In>(dy_view, w_view, S(0), dx);
  const auto dx_exact = reference::linear_backward_input(R, C_in, C_out, dy_exact, w_exact);
  auto dx_size = reference::linear_backward_input(R, C_in, C_out, dya, wa);
  expect_within(values_of(dx), dx_exact, bound(dx_size, C_out));
  Kokkos::deep_copy(dx, S(3));
  linear_backward_input<In>(dy_view, w_view, S(2), dx);
  std::vector<double> dx_added = dx_exact;
  for (std::size_t i = 0; i < dx_added.size(); ++i) {
    dx_added[i] += 6;
    dx_size[i] += 6;
  }
  expect_within(values_of(dx), dx_added, bound(dx_size, C_out));

  const Matrix<S> dw("dw", C_out, C_in);
  Kokkos::deep_copy(dw, S(1));
  linear_backward_weight<In>(dy_view, x_view, dw);
  auto dw_exact = reference::linear_backward_weight(R, C_in, C_out, dy_exact, x_exact);
  auto dw_size = reference::linear_backward_weight(R, C_in, C_out, dya, xa);
  for (std::size_t i = 0; i < dw_exact.size(); ++i) {
    dw_exact[i] += 1;
    dw_size[i] += 1;
  }
  expect_within(values_of(dw), dw_exact, bound(dw_size, R));
}

template <class S>
class Linear : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Linear, Scalars);

TYPED_TEST(Linear, MatchesReference) {
  for (const Shape& shape : shapes) {
    const Sample<TypeParam> x(shape.R * shape.C_in, 1), w(shape.C_out * shape.C_in, 2),
        dy(shape.R * shape.C_out, 3);
    compare<TypeParam, TypeParam>(shape, x.values, w.values, dy.values, x.exact, w.exact, dy.exact);
  }
}

TEST(LinearBfloat16, MatchesReferenceOnRoundedOperands) {
  const auto rounded = [](const std::vector<double>& values, std::vector<double>& exact) {
    std::vector<bfloat16> result;
    for (const double value : values) {
      result.push_back(to_bfloat16(static_cast<float>(value)));
      exact.push_back(static_cast<double>(to_float(result.back())));
    }
    return result;
  };
  for (const Shape& shape : shapes) {
    std::vector<double> x_exact, w_exact, dy_exact;
    const auto x = rounded(gaussian<double>(shape.R * shape.C_in, 1), x_exact);
    const auto w = rounded(gaussian<double>(shape.C_out * shape.C_in, 2), w_exact);
    const auto dy = rounded(gaussian<double>(shape.R * shape.C_out, 3), dy_exact);
    compare<bfloat16, float>(shape, x, w, dy, x_exact, w_exact, dy_exact);
  }
}

TEST(LinearGradient, FiniteDifferences) {
  constexpr std::int64_t R = 4, C_in = 5, C_out = 3;
  const auto x = gaussian<double>(R * C_in, 1), w = gaussian<double>(C_out * C_in, 2),
             c = gaussian<double>(R * C_out, 3);
  const auto loss = [&](const std::vector<double>& x_values, const std::vector<double>& w_values) {
    const Matrix<double> y("y", R, C_out);
    linear_forward<double>(to_matrix(x_values, R, C_in), to_matrix(w_values, C_out, C_in), y);
    return dot(values_of(y), c);
  };
  const Matrix<double> dx("dx", R, C_in), dw("dw", C_out, C_in);
  const Matrix<const double> dy = to_matrix(c, R, C_out);
  linear_backward_input<double>(dy, to_matrix(w, C_out, C_in), 0.0, dx);
  linear_backward_weight<double>(dy, to_matrix(x, R, C_in), dw);
  expect_gradient(values_of(dx), numerical_gradient(x, [&](const auto& values) { return loss(values, w); }));
  expect_gradient(values_of(dw), numerical_gradient(w, [&](const auto& values) { return loss(x, values); }));
}

TEST(LinearErrors, NoRowsAndWrongShape) {
  const Matrix<float> x("x", 0, 5), w("w", 3, 5), y("y", 0, 3), dw("dw", 3, 5), wrong("wrong", 0, 4);
  linear_forward<float>(x, w, y);
  Kokkos::deep_copy(dw, 2.0f);
  linear_backward_weight<float>(y, x, dw);
  EXPECT_EQ(values_of(dw), std::vector<float>(15, 2.0f));
  EXPECT_THROW(linear_forward<float>(x, w, wrong), RuntimeError);
}

}  // namespace
}  // namespace minigift
