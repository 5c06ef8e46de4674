// The bound holds for sums made to be as bad as they can be, and is no wider than they need.
#include "miniapp/comm/sum_bound.hpp"

#include "kernels/format/roundoff.hpp"
#include "kernels/format/scale.hpp"
#include "kernels/reference/native_all_reduce.hpp"
#include "miniapp/comm/inputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace {

using namespace minigift;

double rounded(Format format, double value) {
  std::array<std::uint8_t, 4> bytes{};
  reference::encode(format, static_cast<float>(value), bytes.data());
  return static_cast<double>(reference::decode(format, bytes.data()));
}

/// Casts with a scale, adds in sequence, each time rounded: what a ring does to one element.
double ring_sum(Format format, const std::vector<float>& x, double scale) {
  double sum = rounded(format, static_cast<double>(x[0]) / scale);
  for (std::size_t r = 1; r < x.size(); ++r)
    sum = rounded(format, sum + rounded(format, static_cast<double>(x[r]) / scale));
  return sum * scale;
}

/// Casts with a scale, adds in FP32, casts the sum with another.
double owner_sum(Format format, const std::vector<float>& x, double scale, double owner_scale) {
  float sum = 0;
  for (const float value : x)
    sum += static_cast<float>(rounded(format, static_cast<double>(value) / scale) * scale);
  return rounded(format, static_cast<double>(sum) / owner_scale) * owner_scale;
}

/// The same in two levels, over nodes of two ranks each.
double node_sum(Format format, const std::vector<float>& x, double scale, double node_scale,
                double owner_scale) {
  float sum = 0;
  for (std::size_t first = 0; first < x.size(); first += 2) {
    const std::vector<float> node(x.begin() + static_cast<std::ptrdiff_t>(first),
                                  x.begin() + static_cast<std::ptrdiff_t>(std::min(first + 2, x.size())));
    sum += static_cast<float>(owner_sum(format, node, scale, node_scale));
  }
  return rounded(format, static_cast<double>(sum) / owner_scale) * owner_scale;
}

struct Exact {
  double sum = 0;
  double magnitude = 0;
};
Exact exact(const std::vector<float>& x) {
  Exact result;
  for (const float value : x) {
    result.sum += static_cast<double>(value);
    result.magnitude += std::abs(static_cast<double>(value));
  }
  return result;
}

constexpr Format formats[] = {Format::fp32, Format::bf16, Format::e4m3, Format::e5m2};

double scale_for(Format format, double amax, double headroom) {
  if (!is_fp8(format)) return 1;
  return static_cast<double>(power_of_two_scale(static_cast<float>(amax), static_cast<float>(headroom),
                                                static_cast<float>(max_finite(format))));
}

TEST(SumBound, HoldsForTheInputsOfTheBenchmark) {
  for (const Format format : formats) {
    for (const int ranks : {1, 2, 3, 8, 33}) {
      const double scale = scale_for(format, 2, shared_headroom(format, ranks));
      const double own_scale = scale_for(format, 2, 1);
      const double owner_scale = scale_for(format, 2.0 * ranks, 1);
      const SumBound ring = sum_bound(CollectiveChoice::native, format, ranks, {scale, scale});
      const SumBound owner = sum_bound(CollectiveChoice::a2a, format, ranks, {own_scale, owner_scale});
      const double node_scale = scale_for(format, 4, 1);
      const SumBound nodes =
          sum_bound(CollectiveChoice::hierarchical, format, ranks, {own_scale, owner_scale});
      for (std::int64_t i = 0; i < 4000; ++i) {
        std::vector<float> x;
        for (int r = 0; r < ranks; ++r)
          x.push_back(input_element(input_key(1, r, InputStream::elements), i));
        const auto [sum, magnitude] = exact(x);
        ASSERT_LE(std::abs(ring_sum(format, x, scale) - sum), ring.relative * magnitude + ring.absolute)
            << name(format) << " " << ranks << " ranks, element " << i;
        ASSERT_LE(std::abs(owner_sum(format, x, own_scale, owner_scale) - sum),
                  owner.relative * magnitude + owner.absolute)
            << name(format) << " " << ranks << " ranks, element " << i;
        ASSERT_LE(std::abs(node_sum(format, x, own_scale, node_scale, owner_scale) - sum),
                  nodes.relative * magnitude + nodes.absolute)
            << name(format) << " " << ranks << " ranks, element " << i;
      }
    }
  }
}

// Ties that all go the same way: 1 + u rounds to 1 and back to 1 with every further u, so that N - 1 summands
// are lost. No order of addition loses more than the bound says, and this one loses a good part of it.
TEST(SumBound, IsNotMuchWiderThanTheWorstSum) {
  for (const Format format : formats) {
    const double u = unit_roundoff(format);
    std::vector<float> x = {1.0f};
    for (int r = 1; r < 4; ++r)
      x.push_back(static_cast<float>(u));
    const auto [sum, magnitude] = exact(x);
    const double error = std::abs(ring_sum(format, x, 1) - sum);
    EXPECT_DOUBLE_EQ(error, 3 * u) << name(format);
    const SumBound bound = sum_bound(CollectiveChoice::native, format, 4, {1, 1});
    EXPECT_LE(error, bound.relative * magnitude + bound.absolute) << name(format);
    EXPECT_GE(error, 0.45 * bound.relative * magnitude) << name(format);
  }
}

TEST(SumBound, OneRankRoundsOnceOrNever) {
  EXPECT_EQ(sum_bound(CollectiveChoice::native, Format::fp32, 1, {}).relative, 0);
  EXPECT_NEAR(sum_bound(CollectiveChoice::native, Format::e4m3, 1, {}).relative, 0x1p-4, 1e-15);
  EXPECT_NEAR(sum_bound(CollectiveChoice::a2a, Format::bf16, 1, {}).relative, std::pow(1 + 0x1p-8, 2) - 1,
              1e-15);
}

TEST(SumBound, GrowsWithRanksForRingsAndHardlyForOwners) {
  const auto ring = [](int ranks) {
    return sum_bound(CollectiveChoice::native, Format::e4m3, ranks, {1, 1}).relative;
  };
  const auto owner = [](int ranks) {
    return sum_bound(CollectiveChoice::a2a, Format::e4m3, ranks, {1, 1}).relative;
  };
  EXPECT_NEAR(ring(8), std::pow(1 + 0x1p-4, 8) - 1, 1e-5);
  EXPECT_NEAR(owner(8), std::pow(1 + 0x1p-4, 2) - 1, 1e-5);
  EXPECT_LT(owner(1024), 1.001 * owner(2));
}

// Values below the smallest normal number lose up to half a step, whatever their size.
TEST(SumBound, CoversValuesThatFlush) {
  for (const Format format : {Format::e4m3, Format::e5m2}) {
    const double half_step = smallest_step(format) / 2;
    const std::vector<float> x(6, static_cast<float>(half_step));  // a tie, to even: zero
    const double error = std::abs(ring_sum(format, x, 1) - exact(x).sum);
    EXPECT_DOUBLE_EQ(error, 6 * half_step);
    const SumBound bound = sum_bound(CollectiveChoice::native, format, 6, {1, 1});
    EXPECT_LE(error, bound.absolute);
    EXPECT_LE(bound.absolute, 2.0 * error);
  }
}

// INT8 has steps of one size: all of its error is absolute.
TEST(SumBound, OfInt8IsHalfAStepOfEveryCast) {
  const SumBound bound = sum_bound(CollectiveChoice::a2a, Format::int8, 4, {0.5, 2.0});
  EXPECT_NEAR(bound.absolute, 4 * 0.5 / 2 + 2.0 / 2, 1e-3);
  EXPECT_LT(bound.relative, 1e-6);
}

// Every rank holds the largest magnitude in the same element: no partial sum exceeds the largest code, so
// that nothing saturates.
TEST(SharedHeadroom, KeepsEverySequentialSumInRange) {
  for (const Format format : {Format::e4m3, Format::e5m2}) {
    for (int ranks = 2; ranks <= 130; ++ranks) {
      for (const double amax : {1.0, 1.1, 1.37, 1.74, 1.99}) {
        const double scale = scale_for(format, amax, shared_headroom(format, ranks));
        const double code = rounded(format, amax / scale);
        double sum = code;
        for (int r = 1; r < ranks; ++r) {
          ASSERT_LE(sum + code, max_finite(format)) << name(format) << " " << ranks << " ranks";
          sum = rounded(format, sum + code);
        }
      }
    }
  }
  EXPECT_EQ(shared_headroom(Format::e4m3, 1), 1);
}

TEST(SumBound, IsForCollectivesThatAdd) {
  EXPECT_THROW(sum_bound(CollectiveChoice::all_gather, Format::fp32, 2, {}), RuntimeError);
}

}  // namespace
