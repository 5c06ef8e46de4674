#include "kernels/error.hpp"
#include "kernels/nn/cross_entropy.hpp"
#include "kernels/reference/cross_entropy.hpp"
#include "tests/kernels/nn_support.hpp"

namespace minigift {
namespace {

using namespace test;

Vector<const std::int32_t> targets_view(const std::vector<std::int32_t>& targets) {
  return to_vector(targets);
}

std::vector<std::int32_t> some_targets(std::int64_t R, std::int64_t V) {
  std::vector<std::int32_t> targets;
  for (std::int64_t r = 0; r < R; ++r)
    targets.push_back(static_cast<std::int32_t>((r * 7919 + V - 1) % V));
  return targets;
}

struct Shape {
  std::int64_t R, V;
};
const std::vector<Shape> shapes{{1, 1}, {5, 3}, {9, 257}, {3, 50304}};

template <class S>
class CrossEntropy : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CrossEntropy, Scalars);

// Errors in u: the difference to the maximum rounds by its own size, the exponential by 4, and a piece of at
// most 1024 terms is summed in S. These are relative errors of the sum, so absolute ones of its logarithm.
TYPED_TEST(CrossEntropy, MatchesReference) {
  using S = TypeParam;
  const double u = unit_roundoff<S>;
  constexpr double scale = 0.125;
  for (const Shape& shape : shapes) {
    const Sample<S> logits(shape.R * shape.V, 1, 5.0);
    const auto targets = some_targets(shape.R, shape.V);
    const auto V = static_cast<std::size_t>(shape.V), R = static_cast<std::size_t>(shape.R);
    const Matrix<S> view = to_matrix(logits.values, shape.R, shape.V);
    const Vector<S> loss("loss", R), loss_alone("loss", R);
    cross_entropy_loss(view, targets_view(targets), loss_alone);
    EXPECT_TRUE(same_bits(values_of(view), logits.values));
    cross_entropy(view, targets_view(targets), S(scale), loss);

    const auto exact = reference::cross_entropy(V, logits.exact, targets, scale);
    std::vector<double> loss_bound, gradient_bound;
    for (std::size_t r = 0; r < R; ++r) {
      const auto row = logits.exact.begin() + static_cast<std::ptrdiff_t>(r * V);
      const auto [low, high] = std::minmax_element(row, row + static_cast<std::ptrdiff_t>(V));
      const double relative = u * (*high - *low + 5 + static_cast<double>(std::min<std::size_t>(V, 1024)));
      loss_bound.push_back(relative + 2 * u * exact.loss[r]);
      for (std::size_t v = 0; v < V; ++v) {
        const bool hit = v == static_cast<std::size_t>(targets[r]);
        const double p = exact.d_logits[r * V + v] + (hit ? scale : 0.0);
        gradient_bound.push_back(p * (2 * relative + 3 * u) + (hit ? u * scale : 0.0) + 1e-44);
      }
    }
    expect_within(values_of(loss), exact.loss, loss_bound);
    expect_within(values_of(loss_alone), exact.loss, loss_bound);
    expect_within(values_of(view), exact.d_logits, gradient_bound);
  }
}

TEST(CrossEntropyGradient, FiniteDifferences) {
  constexpr std::int64_t R = 4, V = 11;
  const auto logits = gaussian<double>(R * V, 1);
  const auto targets = some_targets(R, V);
  const Vector<double> loss("loss", R);
  const Matrix<double> gradient = to_matrix(logits, R, V);
  cross_entropy(gradient, targets_view(targets), 1.0 / R, loss);
  expect_gradient(values_of(gradient), numerical_gradient(logits, [&](const std::vector<double>& values) {
                    cross_entropy_loss(to_matrix(values, R, V), targets_view(targets), loss);
                    double mean = 0;
                    for (const double row : values_of(loss))
                      mean += row / R;
                    return mean;
                  }));
}

TEST(CrossEntropyProperties, UniformLogitsGiveLogVocabulary) {
  constexpr std::int64_t R = 3, V = 50304;
  for (const float level : {0.0f, 1e4f, -1e4f}) {
    const Matrix<float> logits("logits", R, V);
    Kokkos::deep_copy(logits, level);
    const Vector<float> loss("loss", R);
    cross_entropy(logits, targets_view(some_targets(R, V)), 1.0f, loss);
    for (const float row : values_of(loss))
      EXPECT_FLOAT_EQ(row, static_cast<float>(std::log(static_cast<double>(V))));
  }
}

TEST(CrossEntropyProperties, GradientRowsSumToZero) {
  constexpr std::int64_t R = 6, V = 1000;
  const Matrix<double> logits = gaussian_matrix<double>(R, V, 1);
  const Vector<double> loss("loss", R);
  cross_entropy(logits, targets_view(some_targets(R, V)), 0.5, loss);
  const auto gradient = values_of(logits);
  for (std::size_t r = 0; r < R; ++r) {
    double sum = 0, size = 0;
    for (std::size_t v = 0; v < V; ++v) {
      sum += gradient[r * V + v];
      size += std::abs(gradient[r * V + v]);
    }
    EXPECT_NEAR(sum, 0.0, 1e-13);
    EXPECT_GT(size, 0.5);
  }
}

TEST(CrossEntropyNonFinite, IsNeverHidden) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto loss_of = [](const std::vector<float>& row, bool with_gradient) {
    const Matrix<float> logits = to_matrix(row, 1, static_cast<std::int64_t>(row.size()));
    const Vector<float> loss("loss", 1);
    if (with_gradient) cross_entropy(logits, targets_view({1}), 1.0f, loss);
    if (!with_gradient) cross_entropy_loss(logits, targets_view({1}), loss);
    return values_of(loss)[0];
  };
  for (const bool with_gradient : {false, true}) {
    for (std::size_t place = 0; place < 40; ++place) {  // in every lane of a register, and beyond
      std::vector<float> row(40, 0.5f);
      row[place] = std::nanf("");
      EXPECT_FALSE(std::isfinite(loss_of(row, with_gradient))) << place;
      row[place] = infinity;
      EXPECT_FALSE(std::isfinite(loss_of(row, with_gradient))) << place;
    }
    EXPECT_FALSE(std::isfinite(loss_of(std::vector<float>(20, -infinity), with_gradient)));
    EXPECT_EQ(loss_of({0, -infinity, 0}, with_gradient), infinity);
    // An excluded class beside the target is legitimate.
    EXPECT_FLOAT_EQ(loss_of({-infinity, 0, 0}, with_gradient), std::log(2.0f));
  }
}

TEST(CrossEntropyErrors, TargetOutsideTheVocabulary) {
  constexpr std::int64_t R = 4, V = 5;
  for (const std::int32_t bad : {-100, 5}) {
    const auto values = gaussian<float>(R * V, 1);
    const Matrix<float> logits = to_matrix(values, R, V);
    const Vector<float> loss("loss", R);
    for (const bool with_gradient : {false, true}) {
      try {
        if (with_gradient) cross_entropy(logits, targets_view({0, 1, bad, bad}), 1.0f, loss);
        if (!with_gradient) cross_entropy_loss(logits, targets_view({0, 1, bad, bad}), loss);
        ADD_FAILURE() << "accepted " << bad;
      } catch (const RuntimeError& error) {
        const std::string message = error.what();
        EXPECT_NE(message.find("row 2"), std::string::npos) << message;
        EXPECT_NE(message.find(std::to_string(bad)), std::string::npos) << message;
      }
    }
    EXPECT_TRUE(same_bits(values_of(logits), values));
  }
}

TEST(CrossEntropyErrors, NoRowsAndWrongLength) {
  const Matrix<float> none("none", 0, 5), one("one", 1, 5);
  const Vector<float> loss("loss", 0);
  cross_entropy(none, targets_view({}), 1.0f, loss);
  cross_entropy_loss(none, targets_view({}), loss);
  EXPECT_THROW(cross_entropy(one, targets_view({}), 1.0f, loss), RuntimeError);
}

TEST(CrossEntropyRepeat, SameBits) {
  constexpr std::int64_t R = 20, V = 3001;
  const auto values = gaussian<float>(R * V, 1);
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    const Matrix<float> logits = to_matrix(values, R, V);
    const Vector<float> loss("loss", R);
    cross_entropy(logits, targets_view(some_targets(R, V)), 1.0f, loss);
    if (run == 0) first = values_of(logits);
    EXPECT_TRUE(same_bits(first, values_of(logits)));
  }
}

}  // namespace
}  // namespace minigift
