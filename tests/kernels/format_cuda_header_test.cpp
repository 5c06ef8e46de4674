// Our conversions against the host versions of CUDA's own headers, where those are installed.

#include "kernels/format/bfloat16.hpp"
#include "kernels/format/fp8.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

#include <cuda_bf16.h>
#include <cuda_fp8.h>

namespace {

using namespace minigift;
using namespace minigift::test;

void expect_cuda_codes(float value) {
  ASSERT_EQ(encode_e4m3(value), __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3))
      << value << " " << std::hex << bits_of(value);
  ASSERT_EQ(encode_e5m2(value), __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2))
      << value << " " << std::hex << bits_of(value);
  ASSERT_EQ(to_bfloat16(value).bits, __nv_bfloat16_raw(__float2bfloat16_rn(value)).x)
      << value << " " << std::hex << bits_of(value);
}

TEST(CudaHeader, RandomFloats) {
  const PhiloxKey key = philox_key(91, 0, 0, 0);
  for (std::int64_t i = 0; i < (std::int64_t{1} << 20); ++i) {
    std::uint32_t bits = philox_bits(key, i);
    if (i % 2 == 0) bits = (bits & 0x807FFFFFu) | ((100u + (bits >> 8) % 48u) << 23);
    expect_cuda_codes(float_of(bits));
  }
}

TEST(CudaHeader, CodesMidpointsNeighboursAndSpecialValues) {
  for (int code = 0; code < 256; ++code) {
    for (const auto interpretation : {__NV_E4M3, __NV_E5M2}) {
      const auto byte = static_cast<std::uint8_t>(code);
      const float decoded = interpretation == __NV_E4M3 ? decode_e4m3(byte) : decode_e5m2(byte);
      const float cuda = __half2float(__half(__nv_cvt_fp8_to_halfraw(byte, interpretation)));
      if (std::isnan(cuda)) {
        ASSERT_TRUE(std::isnan(decoded)) << code;
      } else {
        ASSERT_EQ(bits_of(decoded), bits_of(cuda)) << code;
      }
      const float next = interpretation == __NV_E4M3 ? decode_e4m3(static_cast<std::uint8_t>(code + 1))
                                                     : decode_e5m2(static_cast<std::uint8_t>(code + 1));
      const float midpoint = (decoded + next) / 2;
      for (const float value : {decoded, midpoint, next_up(midpoint), next_down(midpoint)}) {
        expect_cuda_codes(value);
      }
    }
  }
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const std::uint32_t mantissa : {0u, 1u, 0x7FFFFFu, 0x400000u, 0x200001u}) {
      expect_cuda_codes(float_of((exponent << 23) | mantissa));
      expect_cuda_codes(float_of(0x80000000u | (exponent << 23) | mantissa));
    }
  }
}

}  // namespace
