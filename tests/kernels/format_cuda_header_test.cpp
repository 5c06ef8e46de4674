// Our conversions against the host versions of CUDA's own headers, where those are installed.

#include "kernels/format/bfloat16.hpp"
#include "kernels/format/e8m0.hpp"
#include "kernels/format/fp4.hpp"
#include "kernels/format/fp8.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

#include <cuda_bf16.h>
#if __has_include(<cuda_fp4.h>)
#include <cuda_fp4.h>
#endif
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

/// 2^20 of all signs, exponents and mantissas, not-a-number among them.
TEST(CudaHeader, RandomFloats) {
  const PhiloxKey key = philox_key(91, 0, 0, 0);
  for (std::int64_t i = 0; i < (std::int64_t{1} << 20); ++i)
    expect_cuda_codes(float_of(philox_bits(key, i)));
}

/// 2^20 more between 2^-27 and 2^20, where the narrow formats have their values.
TEST(CudaHeader, RandomFloatsInTheRangeOfFp8) {
  const PhiloxKey key = philox_key(92, 0, 0, 0);
  for (std::int64_t i = 0; i < (std::int64_t{1} << 20); ++i) {
    const std::uint32_t bits = philox_bits(key, i);
    expect_cuda_codes(float_of((bits & 0x807FFFFFu) | ((100u + (bits >> 8) % 48u) << 23)));
  }
}

/// Every bfloat16, the midpoint to the next one, and the midpoint's neighbours.
TEST(CudaHeader, AllBfloat16) {
  for (std::uint32_t code = 0; code < 0x10000u; ++code) {
    __nv_bfloat16_raw raw;
    raw.x = static_cast<unsigned short>(code);
    ASSERT_EQ(bits_of(to_float(bfloat16{static_cast<std::uint16_t>(code)})), code << 16);
    ASSERT_EQ(bits_of(__bfloat162float(__nv_bfloat16(raw))), code << 16);
    for (const std::uint32_t below : {0u, 0x7FFFu, 0x8000u, 0x8001u})
      expect_cuda_codes(float_of((code << 16) | below));
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

#if __has_include(<cuda_fp4.h>)  // of CUDA 12.8 and newer

void expect_cuda_fp4(float value) {
  ASSERT_EQ(E2M1::encode(value), __nv_cvt_float_to_fp4(value, __NV_E2M1, cudaRoundNearest))
      << value << " " << std::hex << bits_of(value);
}

TEST(CudaHeader, Fp4) {
  for (std::uint8_t code = 0; code < 16; ++code) {
    const float cuda = __half2float(__half(__nv_cvt_fp4_to_halfraw(code, __NV_E2M1)));
    ASSERT_EQ(bits_of(E2M1::decode(code)), bits_of(cuda)) << int{code};
    const float midpoint = (cuda + E2M1::decode(static_cast<std::uint8_t>(code + 1))) / 2;
    for (const float value : {cuda, midpoint, next_up(midpoint), next_down(midpoint)})
      expect_cuda_fp4(value);
  }
  const PhiloxKey key = philox_key(93, 0, 0, 0);
  for (std::int64_t i = 0; i < (std::int64_t{1} << 20); ++i) {
    const std::uint32_t bits = philox_bits(key, i);
    expect_cuda_fp4(float_of(bits));
    expect_cuda_fp4(float_of((bits & 0x807FFFFFu) | ((122u + (bits >> 8) % 10u) << 23)));
  }
}

/// Our two rules for elements up to 1 are CUDA's roundings of a scale, for every normal exponent.
TEST(CudaHeader, E8M0) {
  for (int code = 0; code < 256; ++code) {
    const __nv_bfloat16 cuda(__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(code)));
    const float decoded = decode_e8m0(static_cast<std::uint8_t>(code));
    if (code == 255)
      ASSERT_TRUE(std::isnan(decoded) && std::isnan(__bfloat162float(cuda)));
    else
      ASSERT_EQ(bits_of(decoded), bits_of(__bfloat162float(cuda))) << code;
  }
  for (std::uint32_t exponent = 1; exponent < 255; ++exponent)
    for (const std::uint32_t mantissa : {0u, 1u, 0x400000u, 0x7FFFFFu}) {
      const std::uint32_t bits = (exponent << 23) | mantissa;
      ASSERT_EQ(encode_e8m0(bits, bits_of(1.0f), MxScaleRule::rounded_up),
                __nv_cvt_float_to_e8m0(float_of(bits), __NV_SATFINITE, cudaRoundPosInf));
      ASSERT_EQ(encode_e8m0(bits, bits_of(1.0f), MxScaleRule::truncated),
                __nv_cvt_float_to_e8m0(float_of(bits), __NV_SATFINITE, cudaRoundZero));
    }
}

#endif

}  // namespace
