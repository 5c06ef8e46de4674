#include "kernels/error.hpp"
#include "kernels/nn/rope.hpp"
#include "kernels/reference/rope.hpp"
#include "tests/kernels/nn_support.hpp"

namespace minigift {
namespace {

using namespace test;

constexpr double theta = 10000;

struct Shape {
  std::int64_t B, T, heads, D;
};
const std::vector<Shape> shapes{{1, 1, 1, 2}, {2, 5, 3, 6}, {3, 33, 2, 64}, {1, 700, 1, 16}};

template <class S>
class Rope : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Rope, Scalars);

TYPED_TEST(Rope, MatchesReferenceBothWays) {
  using S = TypeParam;
  for (const Shape& shape : shapes) {
    const std::int64_t R = shape.B * shape.T, width = shape.heads * shape.D;
    const Sample<S> x(R * width, 1);
    // A table longer than T serves as well.
    const RopeTable<S> table = make_rope_table<S>(shape.T + 3, shape.D, theta);
    for (const double direction : {1.0, -1.0}) {
      const Matrix<S> turned = to_matrix(x.values, R, width);
      if (direction > 0) rope_forward(turned, shape.T, table);
      if (direction < 0) rope_backward(turned, shape.T, table);
      const auto expected =
          reference::rope(static_cast<std::size_t>(shape.B), static_cast<std::size_t>(shape.T),
                          static_cast<std::size_t>(shape.heads), static_cast<std::size_t>(shape.D), theta,
                          direction, x.exact);
      // Each of the two products has the rounding of the table, its own and that of the sum; |cos|, |sin|
      // <= 1.
      std::vector<double> bound(expected.size());
      const auto half = static_cast<std::size_t>(shape.D / 2);
      for (std::size_t i = 0; i < bound.size(); ++i) {
        const std::size_t partner = i / half % 2 == 0 ? i + half : i - half;
        bound[i] = 3 * unit_roundoff<S> * (std::abs(x.exact[i]) + std::abs(x.exact[partner])) + 1e-15;
      }
      expect_within(values_of(turned), expected, bound);
    }
  }
}

TEST(RopeLayout, PairsAreHalfAHeadApart) {
  constexpr std::int64_t T = 3, D = 8;
  const RopeTable<double> table = make_rope_table<double>(T, D, theta);
  for (std::int64_t j = 0; j < D / 2; ++j) {
    std::vector<double> x(T * D, 0.0);
    for (std::int64_t t = 0; t < T; ++t)
      x[static_cast<std::size_t>(t * D + j)] = 1;
    const Matrix<double> turned = to_matrix(x, T, D);
    rope_forward(turned, T, table);
    const auto values = values_of(turned);
    for (std::int64_t t = 0; t < T; ++t) {
      const double angle = static_cast<double>(t) * std::pow(theta, -2.0 * static_cast<double>(j) / D);
      for (std::int64_t d = 0; d < D; ++d) {
        const double expected = d == j ? std::cos(angle) : d == j + D / 2 ? std::sin(angle) : 0.0;
        EXPECT_NEAR(values[static_cast<std::size_t>(t * D + d)], expected, 1e-15)
            << t << " " << j << " " << d;
      }
    }
  }
}

TEST(RopeProperties, KeepsTheNormAndBackwardIsTheInverse) {
  constexpr std::int64_t T = 50, D = 48;
  const RopeTable<double> table = make_rope_table<double>(T, D, theta);
  const auto x = gaussian<double>(T * D, 1);
  const Matrix<double> turned = to_matrix(x, T, D);
  rope_forward(turned, T, table);
  const auto values = values_of(turned);
  EXPECT_GT(std::abs(values[D] - x[D]), 1e-3);  // position 1 did move
  for (std::size_t t = 0; t < T; ++t) {
    double before = 0, after = 0;
    for (std::size_t d = 0; d < D; ++d) {
      before += x[t * D + d] * x[t * D + d];
      after += values[t * D + d] * values[t * D + d];
    }
    EXPECT_NEAR(after, before, 1e-13 * before);
  }
  rope_backward(turned, T, table);
  expect_within(values_of(turned), x, std::vector<double>(x.size(), 1e-14));
}

TEST(RopeProperties, ScoresDependOnTheDistanceAlone) {
  constexpr std::int64_t T = 40, D = 16;
  const RopeTable<double> table = make_rope_table<double>(T, D, theta);
  const auto q_row = gaussian<double>(D, 1), k_row = gaussian<double>(D, 2);
  const auto everywhere = [&](const std::vector<double>& row) {  // the same vector at each position
    std::vector<double> rows;
    for (std::int64_t t = 0; t < T; ++t)
      rows.insert(rows.end(), row.begin(), row.end());
    const Matrix<double> turned = to_matrix(rows, T, D);
    rope_forward(turned, T, table);
    return values_of(turned);
  };
  const auto q = everywhere(q_row), k = everywhere(k_row);
  const auto score = [&](std::size_t t, std::size_t s) {
    double sum = 0;
    for (std::size_t d = 0; d < D; ++d)
      sum += q[t * D + d] * k[s * D + d];
    return sum;
  };
  for (const std::size_t distance : {0u, 1u, 7u, 30u})
    for (std::size_t s = 0; s + distance < T; ++s)
      EXPECT_NEAR(score(s + distance, s), score(distance, 0), 1e-12);
  EXPECT_GT(std::abs(score(7, 0) - score(1, 0)), 1e-3);
}

TEST(RopeGradient, FiniteDifferences) {
  constexpr std::int64_t T = 4, D = 6;
  const RopeTable<double> table = make_rope_table<double>(T, D, 100.0);
  const auto x = gaussian<double>(T * D, 1), c = gaussian<double>(T * D, 2);
  const Matrix<double> dx = to_matrix(c, T, D);
  rope_backward(dx, T, table);
  expect_gradient(values_of(dx), numerical_gradient(x, [&](const std::vector<double>& values) {
                    const Matrix<double> turned = to_matrix(values, T, D);
                    rope_forward(turned, T, table);
                    return dot(values_of(turned), c);
                  }));
}

TEST(RopeErrors, OddWidthAndWrongShapes) {
  EXPECT_THROW(make_rope_table<float>(4, 5, theta), RuntimeError);
  EXPECT_THROW(make_rope_table<float>(4, 0, theta), RuntimeError);
  const RopeTable<float> table = make_rope_table<float>(4, 6, theta);
  EXPECT_THROW(rope_forward(Matrix<float>("x", 4, 8), 4, table), RuntimeError);   // not whole heads
  EXPECT_THROW(rope_forward(Matrix<float>("x", 10, 6), 5, table), RuntimeError);  // beyond the table
  EXPECT_THROW(rope_forward(Matrix<float>("x", 5, 6), 4, table), RuntimeError);   // not whole sequences
  rope_forward(Matrix<float>("x", 0, 6), 4, table);
}

}  // namespace
}  // namespace minigift
