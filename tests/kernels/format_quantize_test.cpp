// amax, quantize, dequantize and counters over awkward tiles, against the serial oracle, bit for bit.

#include "kernels/error.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/reference/quantize.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace minigift;
using namespace minigift::test;

/// Groups of awkward lengths with gaps on both sides, the wire in another order than the source.
struct Layout {
  std::vector<Tile> tiles;
  std::int64_t source_extent = 0, wire_extent = 0, groups = 0;

  Layout() {
    const std::vector<std::int64_t> lengths{1,  3,  4095,          4096, 4097, 0, 63,
                                            64, 65, 3 * 4096 + 17, 511,  513,  2};
    source_extent = 5;
    for (const std::int64_t length : lengths) {
      source_extent += length + 7;
    }
    std::int64_t source = source_extent, wire = 3;
    for (const std::int64_t length : lengths) {
      source -= length + 7;
      append_tiles(tiles, source, wire, length, groups++);
      wire += length + 11;
    }
    tiles.push_back({0, 0, 0, 0, groups - 1});  // a tile without elements
    wire_extent = wire + wire % 2;
  }
};

/// Values over many binades, with zeros, exact ties and denormals.
std::vector<float> awkward_values(std::int64_t count) {
  std::vector<float> x = normal_values(count, 1.0f, 51);
  const PhiloxKey key = philox_key(52, 0, 0, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = x[static_cast<std::size_t>(i)];
    value = std::ldexp(value, -static_cast<int>(philox_integer(key, i, 24)));
    if (i % 17 == 0) value = 0.0f;
    if (i % 19 == 0)
      value = std::ldexp(1.0f + 0.0625f * static_cast<float>(i % 16), static_cast<int>(i % 5) - 6);
    if (i % 101 == 0) value = float_of(static_cast<std::uint32_t>(i));
    if (i % 103 == 0) value = -0.0f;
  }
  return x;
}

void expect_same_bits(const std::vector<float>& result, const std::vector<float>& expected) {
  ASSERT_EQ(result.size(), expected.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(result[i])) << i;
    } else {
      ASSERT_EQ(bits_of(result[i]), bits_of(expected[i])) << i << ": " << result[i] << " for " << expected[i];
    }
  }
}

void expect_equal(const QuantizeCounters& a, const QuantizeCounters& b) {
  EXPECT_EQ(a.elements, b.elements);
  EXPECT_EQ(a.saturated, b.saturated);
  EXPECT_EQ(a.flushed, b.flushed);
  EXPECT_EQ(a.subnormal, b.subnormal);
  EXPECT_EQ(a.non_finite, b.non_finite);
}

QuantizeCounters twice(const QuantizeCounters& c) {
  return {2 * c.elements, 2 * c.saturated, 2 * c.flushed, 2 * c.subnormal, 2 * c.non_finite};
}

class QuantizeFormat : public testing::TestWithParam<Format> {};

/// Quantizes with and without residual, in place and not, with and without counters, and decodes, against the
/// oracle.
void check_against_oracle(Format format, const std::vector<float>& x, const std::vector<float>& scale) {
  const Layout layout;
  const Tiles tiles = make_tiles(layout.tiles, layout.source_extent, layout.wire_extent, layout.groups);
  const auto bytes = static_cast<std::size_t>(layout.wire_extent * bytes_per_code(format));
  const std::vector<std::uint8_t> untouched_codes(bytes, 0xA5);
  const std::vector<float> untouched(x.size(), -7.0f);

  std::vector<std::uint8_t> expected_codes = untouched_codes;
  std::vector<float> expected_residual = untouched;
  const QuantizeCounters expected =
      reference::quantize(format, x, layout.tiles, scale, expected_codes, &expected_residual);

  for (const bool keep : {false, true}) {
    for (const bool count : {false, true}) {
      for (const bool in_place : {false, true}) {
        if (in_place && !keep) continue;
        SCOPED_TRACE(testing::Message()
                     << "residual " << keep << " counters " << count << " in place " << in_place);
        const Vector<float> source = to_device(x);
        const Vector<std::uint8_t> codes = to_device(untouched_codes);
        const Vector<float> residual = in_place ? source : keep ? to_device(untouched) : Vector<float>();
        DeviceCounters counters;
        if (count) {  // counts are added to those of an earlier call
          quantize(format, Rounding::nearest_even, source, tiles, to_device(scale),
                   to_device(untouched_codes), Vector<float>(), PhiloxKey{}, &counters);
        }
        quantize(format, Rounding::nearest_even, source, tiles, to_device(scale), codes, residual,
                 PhiloxKey{}, count ? &counters : nullptr);
        ASSERT_EQ(to_host(codes), expected_codes);
        if (count) {
          expect_equal(counters.read(), twice(expected));
          counters.reset();
          expect_equal(counters.read(), QuantizeCounters{});
        }
        if (!keep) continue;
        std::vector<float> wanted = expected_residual;
        if (in_place) {
          for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (bits_of(wanted[i]) == bits_of(-7.0f)) wanted[i] = x[i];
          }
        }
        expect_same_bits(to_host(residual), wanted);
      }
    }
  }

  for (const bool accumulate : {false, true}) {
    std::vector<float> wanted = untouched;
    reference::dequantize(format, expected_codes, layout.tiles, scale, accumulate ? 1.0f : 0.3f, accumulate,
                          wanted);
    const Vector<float> decoded = to_device(untouched);
    if (accumulate) {
      dequantize_add(format, to_device(expected_codes), tiles, to_device(scale), decoded);
    } else {
      dequantize(format, to_device(expected_codes), tiles, to_device(scale), 0.3f, decoded);
    }
    expect_same_bits(to_host(decoded), wanted);
  }

  // Three peers at once: the bits of one after the other, and the maxima of the sum.
  constexpr int peers = 3;
  std::vector<std::uint8_t> all_codes;
  std::vector<float> all_scales, wanted(untouched.size(), 0.0f);
  for (int peer = 0; peer < peers; ++peer) {
    std::vector<float> own = scale;
    for (float& value : own)
      value *= static_cast<float>(peer == 1 ? -0.7 : 1 << peer);
    all_codes.insert(all_codes.end(), expected_codes.begin(), expected_codes.end());
    all_scales.insert(all_scales.end(), own.begin(), own.end());
    reference::dequantize(format, expected_codes, layout.tiles, own, 1.0f, true, wanted);
  }
  const Vector<float> sum = to_device(std::vector<float>(untouched.size(), 0.0f));
  const Vector<float> amax("amax", static_cast<std::size_t>(layout.groups));
  Kokkos::deep_copy(amax, 1e30f);  // overwritten
  for (const Vector<float>& maxima : {Vector<float>(), amax}) {
    dequantize_sum(format, to_device(all_codes), peers, layout.wire_extent, tiles, to_device(all_scales),
                   layout.groups, sum, maxima);
    expect_same_bits(to_host(sum), wanted);
  }
  expect_same_bits(to_host(amax), reference::group_amax(wanted, layout.tiles, layout.groups));
}

TEST_P(QuantizeFormat, MatchesTheOracleWithTheRuleScales) {
  const Layout layout;
  const std::vector<float> x = awkward_values(layout.source_extent);
  const Tiles tiles = make_tiles(layout.tiles, layout.source_extent, layout.wire_extent, layout.groups);
  const Vector<float> amax("amax", static_cast<std::size_t>(layout.groups));
  Kokkos::deep_copy(amax, 1e30f);  // overwritten
  group_amax(to_device(x), tiles, amax);
  expect_same_bits(to_host(amax), reference::group_amax(x, layout.tiles, layout.groups));
  const Vector<float> scale("scale", amax.size());
  scales_from_amax(GetParam(), 1.0f, amax, scale);
  check_against_oracle(GetParam(), x, to_host(scale));

  // No value is beyond the largest code, as the rule claims.
  DeviceCounters counters;
  const Vector<std::uint8_t> codes("codes",
                                   static_cast<std::size_t>(layout.wire_extent * bytes_per_code(GetParam())));
  quantize(GetParam(), Rounding::nearest_even, to_device(x), tiles, scale, codes, Vector<float>(),
           PhiloxKey{}, &counters);
  const QuantizeCounters counted = counters.read();
  EXPECT_EQ(counted.elements, count_elements(layout.tiles));
  EXPECT_EQ(counted.non_finite, 0);
  if (is_fp8(GetParam())) {
    EXPECT_EQ(counted.saturated, 0);
    EXPECT_GT(counted.flushed, 0);
    EXPECT_GT(counted.subnormal, 0);
  }
}

TEST_P(QuantizeFormat, MatchesTheOracleWithScalesThatSaturateAndFlush) {
  const Layout layout;
  std::vector<float> scale(static_cast<std::size_t>(layout.groups));
  for (std::size_t g = 0; g < scale.size(); ++g) {
    // Powers of two and others, far too small and far too large.
    scale[g] = std::ldexp(g % 3 == 0 ? 1.0f : 1.37f, 5 * static_cast<int>(g) - 30);
  }
  check_against_oracle(GetParam(), awkward_values(layout.source_extent), scale);
}

TEST_P(QuantizeFormat, NonFiniteValuesAreCountedAndNeverLost) {
  const Layout layout;
  std::vector<float> x = awkward_values(layout.source_extent);
  const float infinity = std::numeric_limits<float>::infinity();
  const auto at = [&](std::size_t tile, std::int64_t i) -> float& {
    return x[static_cast<std::size_t>(layout.tiles[tile].source + i)];
  };
  at(2, 4094) = std::numeric_limits<float>::quiet_NaN();
  at(3, 0) = -infinity;
  at(3, 100) = float_of(0xFF800001u);  // a signalling NaN with a sign
  at(3, 101) = std::numeric_limits<float>::max();
  const Tiles tiles = make_tiles(layout.tiles, layout.source_extent, layout.wire_extent, layout.groups);
  const Vector<float> amax("amax", static_cast<std::size_t>(layout.groups)), scale("scale", amax.size());
  group_amax(to_device(x), tiles, amax);
  const std::vector<float> host_amax = to_host(amax);
  EXPECT_EQ(host_amax[2], infinity);
  EXPECT_EQ(host_amax[3], infinity);
  EXPECT_LT(host_amax[1], infinity);
  expect_same_bits(host_amax, reference::group_amax(x, layout.tiles, layout.groups));
  scales_from_amax(GetParam(), 1.0f, amax, scale);
  const std::vector<float> host_scale = to_host(scale);
  EXPECT_EQ(host_scale[2], infinity);
  check_against_oracle(GetParam(), x, host_scale);
  if (!has_scale(GetParam())) return;

  // Every element of such a group decodes to NaN, whatever it was.
  const Vector<std::uint8_t> codes("codes", static_cast<std::size_t>(layout.wire_extent));
  const Vector<float> decoded("decoded", x.size());
  DeviceCounters counters;
  quantize(GetParam(), Rounding::nearest_even, to_device(x), tiles, scale, codes, Vector<float>(),
           PhiloxKey{}, &counters);
  EXPECT_EQ(counters.read().non_finite, 3);
  dequantize(GetParam(), codes, tiles, scale, 1.0f, decoded);
  const std::vector<float> result = to_host(decoded);
  for (std::int64_t i = 0; i < layout.tiles[3].count; ++i) {
    ASSERT_TRUE(std::isnan(result[static_cast<std::size_t>(layout.tiles[3].source + i)])) << i;
  }
}

TEST_P(QuantizeFormat, StochasticCountersAndResidualsAreConsistent) {
  const Layout layout;
  const std::vector<float> x = awkward_values(layout.source_extent);
  const Tiles tiles = make_tiles(layout.tiles, layout.source_extent, layout.wire_extent, layout.groups);
  std::vector<float> scale(static_cast<std::size_t>(layout.groups), 0x1p-8f);
  const Vector<std::uint8_t> codes("codes",
                                   static_cast<std::size_t>(layout.wire_extent * bytes_per_code(GetParam())));
  const Vector<float> residual = to_device(std::vector<float>(x.size(), -7.0f));
  DeviceCounters counters;
  quantize(GetParam(), Rounding::stochastic, to_device(x), tiles, to_device(scale), codes, residual,
           philox_key(1, 2, 3, 4), &counters);
  const std::vector<std::uint8_t> host_codes = to_host(codes);
  const std::vector<float> host_residual = to_host(residual);
  QuantizeCounters expected;
  for (const Tile& tile : layout.tiles) {
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const float value = x[static_cast<std::size_t>(tile.source + i)];
      const float s = has_scale(GetParam()) ? scale[0] : 1.0f;
      const double decoded =
          reference::decode(GetParam(), reference::load_code(GetParam(), host_codes, tile.wire + i));
      ASSERT_EQ(host_residual[static_cast<std::size_t>(tile.source + i)],
                std::fma(-s, static_cast<float>(decoded), value));
      expected.elements += 1;
      expected.saturated += std::abs(double{value / s}) > max_finite(GetParam()) ? 1 : 0;
      expected.flushed += value != 0 && decoded == 0 ? 1 : 0;
      expected.subnormal += decoded != 0 && std::abs(decoded) < min_normal(GetParam()) ? 1 : 0;
    }
  }
  expect_equal(counters.read(), expected);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizeFormat,
                         testing::Values(Format::fp32, Format::bf16, Format::e4m3, Format::e5m2,
                                         Format::int8),
                         [](const auto& test) { return name(test.param); });

TEST(Quantize, ResidualAndMaximumInOnePass) {
  const Layout layout;
  const std::vector<float> x = awkward_values(layout.source_extent);
  const std::vector<float> more = normal_values(layout.source_extent, 1e-3f, 71);
  const Tiles tiles = make_tiles(layout.tiles, layout.source_extent, layout.wire_extent, layout.groups);
  std::vector<float> expected = x;  // elements outside the tiles keep their value
  for (const Tile& tile : layout.tiles) {
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const auto at = static_cast<std::size_t>(tile.source + i);
      expected[at] = x[at] + more[at];
    }
  }
  const Vector<float> sum = to_device(x),
                      amax = to_device(std::vector<float>(static_cast<std::size_t>(layout.groups), 1e30f));
  add_residual_group_amax(sum, to_device(more), tiles, amax);
  expect_same_bits(to_host(sum), expected);
  expect_same_bits(to_host(amax), reference::group_amax(expected, layout.tiles, layout.groups));
  EXPECT_THROW(add_residual_group_amax(sum, to_device(std::vector<float>(3)), tiles, amax), RuntimeError);
}

TEST(Quantize, NothingToDo) {
  const Tiles none = make_tiles({}, 0, 0, 0);
  DeviceCounters counters;
  quantize(Format::e4m3, Rounding::nearest_even, Vector<float>(), none, Vector<float>(),
           Vector<std::uint8_t>(), Vector<float>(), PhiloxKey{}, &counters);
  EXPECT_EQ(counters.read().elements, 0);
  const Vector<float> amax = to_device(std::vector<float>{3.0f});
  group_amax(Vector<float>(), none, amax);
  EXPECT_EQ(to_host(amax)[0], 0.0f);
}

TEST(Quantize, PowerOfTwoScalesMakeErrorFeedbackExact) {
  // code * scale + residual == x in exact arithmetic wherever nothing is clipped.
  const Layout layout;
  const std::vector<float> x = normal_values(layout.source_extent, 1e-4f, 61);
  const Tiles tiles = make_tiles(layout.tiles, layout.source_extent, layout.wire_extent, layout.groups);
  const Vector<float> amax("amax", static_cast<std::size_t>(layout.groups)), scale("scale", amax.size());
  group_amax(to_device(x), tiles, amax);
  for (const Format format : {Format::e4m3, Format::e5m2}) {
    scales_from_amax(format, 8.0f, amax, scale);
    const Vector<std::uint8_t> codes("codes", static_cast<std::size_t>(layout.wire_extent));
    const Vector<float> residual("residual", x.size()), decoded("decoded", x.size());
    quantize(format, Rounding::nearest_even, to_device(x), tiles, scale, codes, residual, PhiloxKey{},
             nullptr);
    dequantize(format, codes, tiles, scale, 1.0f, decoded);
    const std::vector<float> r = to_host(residual), y = to_host(decoded);
    for (const Tile& tile : layout.tiles) {
      for (std::int64_t i = 0; i < tile.count; ++i) {
        const auto at = static_cast<std::size_t>(tile.source + i);
        ASSERT_EQ(double{y[at]} + double{r[at]}, double{x[at]});
      }
    }
  }
}

TEST(Quantize, RejectsWhatDoesNotFit) {
  std::vector<Tile> tiles;
  append_tiles(tiles, 0, 0, 10, 0);
  EXPECT_THROW(make_tiles(tiles, 9, 10, 1), RuntimeError);
  EXPECT_THROW(make_tiles(tiles, 10, 9, 1), RuntimeError);
  EXPECT_THROW(make_tiles(tiles, 10, 10, 0), RuntimeError);
  EXPECT_THROW(make_tiles({{0, 0, 4097, 0, 0}}, 9999, 9999, 1), RuntimeError);
  EXPECT_THROW(make_tiles({{0, 0, 1, 0, 1}, {1, 1, 1, 0, 0}}, 9, 9, 2), RuntimeError);
  const Vector<float> x("x", 4), residual("residual", 3);
  EXPECT_THROW(quantize(Format::e4m3, Rounding::nearest_even, x, make_tiles({}, 4, 4, 0), x,
                        Vector<std::uint8_t>("codes", 4), residual, PhiloxKey{}, nullptr),
               RuntimeError);
  EXPECT_THROW(quantize(Format::bf16, Rounding::nearest_even, x, make_tiles({}, 4, 4, 0), x,
                        Vector<std::uint8_t>("codes", 7), Vector<float>(), PhiloxKey{}, nullptr),
               RuntimeError);
}

}  // namespace
