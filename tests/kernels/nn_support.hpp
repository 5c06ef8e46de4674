#pragma once
// What the tests of the layers share: numerical gradients and comparison against bounds.

#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace minigift::test {

/// Unit roundoff of S: half a unit in the last place of 1.
template <class S>
inline constexpr double unit_roundoff = static_cast<double>(std::numeric_limits<S>::epsilon()) / 2;

/// Gaussian values of S with their exact copy in double.
template <class S>
struct Sample {
  std::vector<S> values;
  std::vector<double> exact;

  Sample(std::int64_t count, std::uint64_t seed, double deviation = 1.0) {
    for (const double x : gaussian<double>(count, seed)) {
      values.push_back(static_cast<S>(deviation * x));
      exact.push_back(static_cast<double>(values.back()));
    }
  }
};

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Gradient of f at x by central differences of fourth order: the truncation error is h^4 f'''''/30.
template <class Function>
std::vector<double> numerical_gradient(std::vector<double> x, const Function& f) {
  constexpr double h = 2e-3;
  std::vector<double> gradient;
  for (double& entry : x) {
    const double centre = entry;
    const auto at = [&](double offset) {
      entry = centre + offset;
      return f(x);
    };
    gradient.push_back((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h));
    entry = centre;
  }
  return gradient;
}

/// Every entry agrees within 1e-6 of the larger of its own size and the root mean square of the gradient.
inline void expect_gradient(const std::vector<double>& analytic, const std::vector<double>& numerical) {
  ASSERT_EQ(analytic.size(), numerical.size());
  const double rms = std::sqrt(dot(numerical, numerical) / static_cast<double>(numerical.size()));
  ASSERT_GT(rms, 0.0);
  for (std::size_t i = 0; i < analytic.size(); ++i)
    ASSERT_NEAR(analytic[i], numerical[i], 1e-6 * std::max(std::abs(numerical[i]), rms)) << "entry " << i;
}

/// |value - reference| <= bound, entry by entry; twice that for double, since the reference is computed in
/// double too and may be as far off. NaN fails.
template <class S>
void expect_within(const std::vector<S>& values, const std::vector<double>& reference,
                   const std::vector<double>& bound) {
  ASSERT_EQ(values.size(), reference.size());
  ASSERT_EQ(values.size(), bound.size());
  constexpr double share = std::is_same_v<S, double> ? 2 : 1;
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_LE(std::abs(static_cast<double>(values[i]) - reference[i]), share * bound[i]) << "entry " << i;
}

template <class S>
bool same_bits(const std::vector<S>& a, const std::vector<S>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(S)) == 0);
}

}  // namespace minigift::test
