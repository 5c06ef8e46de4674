// Boundary counts against a count by the serial oracle: every code, its midpoints and their neighbours, at
// several scales, and gradients of all sizes.

#include "kernels/error.hpp"
#include "kernels/format/boundary_counts.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/reference/fp8.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace minigift;
using namespace minigift::test;

const reference::Fp8Format& oracle(Format format) {
  return format == Format::e4m3 ? reference::e4m3 : reference::e5m2;
}

BoundaryCounts brute_force(Format format, const std::vector<float>& x, float scale) {
  const reference::Fp8Format& rules = oracle(format);
  const double largest = max_finite(format), normal = min_normal(format),
               smallest = std::ldexp(normal, -rules.mantissa_bits);
  BoundaryCounts counts;
  for (const float value : x) {
    counts.elements += 1;
    if (!std::isfinite(value)) {
      counts.non_finite += 1;
      continue;
    }
    const float scaled = value * (1.0f / scale);
    const double q = std::abs(reference::fp8_decode(rules, reference::fp8_encode(rules, double{scaled})));
    counts.upper += q == largest ? 1 : 0;
    counts.flushed += value != 0 && q == 0 ? 1 : 0;
    counts.subnormal += q > 0 && q < normal ? 1 : 0;
    counts.lower += value != 0 && q <= smallest ? 1 : 0;
  }
  return counts;
}

void expect_equal(const BoundaryCounts& found, const BoundaryCounts& expected) {
  EXPECT_EQ(found.elements, expected.elements);
  EXPECT_EQ(found.upper, expected.upper);
  EXPECT_EQ(found.flushed, expected.flushed);
  EXPECT_EQ(found.subnormal, expected.subnormal);
  EXPECT_EQ(found.lower, expected.lower);
  EXPECT_EQ(found.non_finite, expected.non_finite);
}

class BoundaryCountsOf : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, BoundaryCountsOf, testing::Values(Format::e4m3, Format::e5m2),
                         [](const auto& info) { return name(info.param); });

/// One element at a time, so that no two mistakes cancel.
TEST_P(BoundaryCountsOf, EveryCodeMidpointAndNeighbour) {
  const reference::Fp8Format& rules = oracle(GetParam());
  for (const float scale : {1.0f, 0x1p-20f, 0x1p30f}) {
    for (int code = 0; code <= rules.largest_finite_code; ++code) {
      const double low = reference::fp8_decode(rules, code);
      const double high =
          code == rules.largest_finite_code ? 2 * low : reference::fp8_decode(rules, code + 1);
      const float value = scale * static_cast<float>(low),
                  midpoint = scale * static_cast<float>((low + high) / 2);
      for (const float x :
           {value, next_up(value), next_down(value), midpoint, next_up(midpoint), next_down(midpoint)})
        for (const float sign : {1.0f, -1.0f}) {
          const std::vector<float> one = {sign * x};
          SCOPED_TRACE(testing::Message() << "value " << one[0] << " scale " << scale);
          expect_equal(boundary_counts(GetParam(), to_device(one), scale),
                       brute_force(GetParam(), one, scale));
        }
    }
  }
}

TEST_P(BoundaryCountsOf, GradientsOfAllLengths) {
  for (const std::int64_t count : {1, 7, 4095, 4096, 4097, 100000}) {
    std::vector<float> x = normal_values(count, 1.0f, 3);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (i % 11 == 0)
        x[i] = i % 2 == 0 ? 0.0f : -0.0f;
      else if (i % 3 == 0)
        x[i] = std::ldexp(x[i], -static_cast<int>(i % 29));  // a heavy lower tail
    for (const float scale : {1.0f / 448, 0.37f, 1.0f, 512.0f, 0x1p14f})
      expect_equal(boundary_counts(GetParam(), to_device(x), scale), brute_force(GetParam(), x, scale));
  }
}

/// What quantize counts with the same scale.
TEST_P(BoundaryCountsOf, AgreesWithTheCountersOfQuantize) {
  const std::vector<float> host = normal_values(50000, 1e-3f, 5);
  const Vector<float> x = to_device(host);
  std::vector<Tile> list;
  append_tiles(list, 0, 0, size(x), 0);
  const Tiles tiles = make_tiles(list, size(x), size(x), 1);
  const Vector<float> amax("amax", 1), scale("scale", 1);
  group_amax(x, tiles, amax);
  scales_from_amax(GetParam(), 64.0f, amax, scale);
  const Vector<std::uint8_t> codes("codes", x.size());
  DeviceCounters counters;
  quantize(GetParam(), Rounding::nearest_even, x, tiles, scale, codes, Vector<float>(), PhiloxKey(),
           &counters);
  const QuantizeCounters expected = counters.read();
  const BoundaryCounts found = boundary_counts(GetParam(), x, to_host(scale)[0]);
  EXPECT_EQ(found.flushed, expected.flushed);
  EXPECT_EQ(found.subnormal, expected.subnormal);
  EXPECT_EQ(found.elements, expected.elements);
  if (GetParam() == Format::e4m3) {
    EXPECT_GT(found.subnormal, 0);
  }
}

TEST_P(BoundaryCountsOf, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {
      infinity, -infinity, nan, 0.0f, -0.0f, 1e-45f, std::numeric_limits<float>::max()};
  const BoundaryCounts counts = boundary_counts(GetParam(), to_device(x), 0x1p-126f);
  EXPECT_EQ(counts.elements, 7);
  EXPECT_EQ(counts.non_finite, 3);
  EXPECT_EQ(counts.upper, 1);  // scaling overflows: beyond the largest code
  EXPECT_EQ(counts.flushed, 1);
  EXPECT_EQ(counts.lower, 1);
  EXPECT_EQ(counts.subnormal, 0);
  BoundaryCounts sum = counts;
  sum += counts;
  EXPECT_EQ(sum.elements, 14);
  EXPECT_EQ(sum.non_finite, 6);
  EXPECT_EQ(boundary_counts(GetParam(), Vector<float>("empty", 0), 1.0f).elements, 0);
}

TEST(BoundaryCounts, RefusesOtherFormatsAndScales) {
  const Vector<float> x("x", 4);
  EXPECT_THROW(boundary_counts(Format::int8, x, 1.0f), RuntimeError);
  EXPECT_THROW(boundary_counts(Format::bf16, x, 1.0f), RuntimeError);
  for (const float scale :
       {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    EXPECT_THROW(boundary_counts(Format::e4m3, x, scale), RuntimeError);
}

}  // namespace
