// The hop of a reduction that adds codes: all 65,536 pairs of both FP8 formats against an exact oracle, BF16
// and FP32 on random and special pairs.

#include "kernels/error.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/reference/quantize.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace {

using namespace minigift;
using namespace minigift::test;

void check_all_pairs(Format format, const reference::Fp8Format& oracle) {
  std::vector<std::uint8_t> incoming(65536), accumulator(65536);
  for (std::size_t i = 0; i < 65536; ++i) {
    incoming[i] = static_cast<std::uint8_t>(i >> 8);
    accumulator[i] = static_cast<std::uint8_t>(i & 0xFF);
  }
  const Vector<std::uint8_t> sum = to_device(accumulator);
  native_add(format, to_device(incoming), sum);
  const std::vector<std::uint8_t> result = to_host(sum);
  for (std::size_t i = 0; i < 65536; ++i) {
    const double a = reference::fp8_decode(oracle, incoming[i]),
                 b = reference::fp8_decode(oracle, accumulator[i]);
    // Sums of two FP8 values span at most 34 bits: exact in double.
    ASSERT_EQ(result[i], reference::fp8_encode(oracle, a + b)) << a << " + " << b;
    if (std::isfinite(a) && std::isfinite(b)) {
      ASSERT_TRUE(std::isfinite(reference::fp8_decode(oracle, result[i]))) << a << " + " << b;
    }
  }
}

TEST(NativeAdd, EveryPairE4M3) {
  check_all_pairs(Format::e4m3, reference::e4m3);
}
TEST(NativeAdd, EveryPairE5M2) {
  check_all_pairs(Format::e5m2, reference::e5m2);
}

template <class Code>
std::vector<std::uint8_t> as_bytes(const std::vector<Code>& codes) {
  std::vector<std::uint8_t> bytes(codes.size() * sizeof(Code));
  if (!bytes.empty()) std::memcpy(bytes.data(), codes.data(), bytes.size());
  return bytes;
}

TEST(NativeAdd, Bfloat16) {
  const PhiloxKey key = philox_key(71, 0, 0, 0);
  std::vector<std::uint16_t> a, b;
  for (std::int64_t i = 0; i < 300001; ++i) {
    const std::uint32_t word = philox_bits(key, i);
    a.push_back(static_cast<std::uint16_t>(word));
    // Exponents near each other, so that the sum rounds.
    b.push_back(static_cast<std::uint16_t>(i % 3 == 0 ? word >> 16 : (word ^ ((word >> 16) & 0x83FFu))));
  }
  const Vector<std::uint8_t> sum = to_device(as_bytes(b));
  native_add(Format::bf16, to_device(as_bytes(a)), sum);
  const std::vector<std::uint8_t> result = to_host(sum);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float x = float_of(std::uint32_t{a[i]} << 16), y = float_of(std::uint32_t{b[i]} << 16);
    ASSERT_EQ(reference::load_code(Format::bf16, result, static_cast<std::int64_t>(i)),
              reference::bfloat16_encode(x + y))
        << x << " + " << y;
  }
}

TEST(NativeAdd, Float32) {
  for (const std::int64_t count : {0, 1, 5, 4097}) {
    const std::vector<float> a = normal_values(count, 1.0f, 72), b = normal_values(count, 1e3f, 73);
    const Vector<std::uint8_t> sum = to_device(as_bytes(b));
    native_add(Format::fp32, to_device(as_bytes(a)), sum);
    const std::vector<std::uint8_t> result = to_host(sum);
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(float_of(reference::load_code(Format::fp32, result, static_cast<std::int64_t>(i))),
                a[i] + b[i]);
    }
  }
}

TEST(NativeAdd, SequentialSumsStagnateAtTheDocumentedValue) {
  for (const auto& [format, oracle, value] :
       {std::tuple{Format::e4m3, reference::e4m3, 16.0}, std::tuple{Format::e5m2, reference::e5m2, 8.0}}) {
    const Vector<std::uint8_t> one = to_device(std::vector<std::uint8_t>{reference::fp8_encode(oracle, 1.0)});
    const Vector<std::uint8_t> sum("sum", 1);
    for (int hop = 0; hop < 64; ++hop) {
      native_add(format, one, sum);
    }
    EXPECT_EQ(reference::fp8_decode(oracle, to_host(sum)[0]), value);
  }
}

TEST(NativeAdd, RejectsWhatCannotBeAdded) {
  const Vector<std::uint8_t> three("three", 3), four("four", 4), two("two", 2);
  EXPECT_THROW(native_add(Format::int8, four, four), RuntimeError);
  EXPECT_THROW(native_add(Format::e4m3, three, four), RuntimeError);
  EXPECT_THROW(native_add(Format::bf16, three, three), RuntimeError);
  EXPECT_THROW(native_add(Format::fp32, two, two), RuntimeError);
}

}  // namespace
