#pragma once
// Serial oracle of the block formats, from their definitions: values by list or by the FP8 oracle, codes and
// scales by search over all of them. Shares nothing with kernels/format but the names.

#include "kernels/format/block_format.hpp"
#include "kernels/reference/fp8.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace minigift::reference {

inline double e2m1_decode(int code) {
  constexpr std::array<double, 8> magnitudes{0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const double magnitude = magnitudes[static_cast<std::size_t>(code & 7)];
  return (code & 8) != 0 ? -magnitude : magnitude;
}

/// The nearest code, ties to the even one, what lies beyond 6 to 6; NaN to +6.
inline int e2m1_encode(double value) {
  if (std::isnan(value)) return 7;
  const double magnitude = std::abs(value);
  int best = 7;
  if (magnitude < 6)
    for (int code = 6; code >= 0; --code) {
      const double distance = std::abs(e2m1_decode(code) - magnitude),
                   best_distance = std::abs(e2m1_decode(best) - magnitude);
      if (distance < best_distance || (distance == best_distance && code % 2 == 0)) best = code;
    }
  return best | (std::signbit(value) ? 8 : 0);
}

inline double e8m0_decode(int code) {
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127);
}

/// `largest` is the largest value of the elements.
inline int e8m0_encode(double amax, double largest, MxScaleRule rule) {
  if (!std::isfinite(amax)) return 255;
  if (amax == 0) return 0;
  if (rule == MxScaleRule::truncated) return std::clamp(std::ilogb(amax) - std::ilogb(largest) + 127, 0, 254);
  for (int code = 0; code < 254; ++code)
    if (amax <= largest * e8m0_decode(code)) return code;
  return 254;
}

struct BlockCodes {
  std::vector<std::uint8_t> codes, scales;
  float tensor_scale = 1;
  std::vector<float> decoded;
};

/// The largest magnitude, infinity where an element is not finite.
inline float largest_magnitude(const std::vector<float>& x) {
  float amax = 0;
  for (const float value : x) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::infinity();
    amax = std::max(amax, std::abs(value));
  }
  return amax;
}

/// x (rows, columns) with the tensor's amax, encoded and decoded again.
inline BlockCodes block_round_trip(BlockFormat format, MxScaleRule rule, const std::vector<float>& x,
                                   std::int64_t rows, std::int64_t columns, float amax) {
  const bool nvfp4 = format == BlockFormat::nvfp4, narrow = format != BlockFormat::mxfp8;
  const std::int64_t width = nvfp4 ? 16 : 32, row_bytes = narrow ? (columns + 1) / 2 : columns;
  BlockCodes result;
  result.codes.assign(static_cast<std::size_t>(rows * row_bytes), 0);
  if (nvfp4 && amax != 0) result.tensor_scale = std::max(amax / 2688.0f, 0x1p-117f);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t first = 0; first < columns; first += width) {
      const auto begin = x.begin() + row * columns + first;
      const std::vector<float> block(begin, begin + std::min(width, columns - first));
      const float block_amax = largest_magnitude(block);
      float scale = 0;
      if (nvfp4) {
        const int code = fp8_encode(e4m3, double{block_amax * (1.0f / (6.0f * result.tensor_scale))});
        result.scales.push_back(static_cast<std::uint8_t>(code));
        scale = static_cast<float>(fp8_decode(e4m3, code)) * result.tensor_scale;
      } else {
        const int code = e8m0_encode(block_amax, narrow ? 6 : 448, rule);
        result.scales.push_back(static_cast<std::uint8_t>(code));
        scale = static_cast<float>(e8m0_decode(code));
      }
      for (std::size_t i = 0; i < block.size(); ++i) {
        const float scaled = scale == 0 ? std::copysign(0.0f, block[i]) : block[i] * (1.0f / scale);
        const std::int64_t column = first + static_cast<std::int64_t>(i);
        if (narrow) {
          const int code = e2m1_encode(double{scaled});
          result.codes[static_cast<std::size_t>(row * row_bytes + column / 2)] |=
              static_cast<std::uint8_t>(column % 2 == 0 ? code : code << 4);
          result.decoded.push_back(static_cast<float>(e2m1_decode(code)) * scale);
        } else {
          const std::uint8_t code = fp8_encode(e4m3, double{scaled});
          result.codes[static_cast<std::size_t>(row * row_bytes + column)] = code;
          result.decoded.push_back(static_cast<float>(fp8_decode(e4m3, code)) * scale);
        }
      }
    }
  return result;
}

}  // namespace minigift::reference
