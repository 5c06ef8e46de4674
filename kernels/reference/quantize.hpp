#pragma once
// Serial oracle of the tile kernels: plain loops over host vectors, codes from the FP8 oracle or from
// std::nearbyint.

#include "kernels/format/quantize.hpp"
#include "kernels/reference/fp8.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace minigift::reference {

/// BF16 by comparing the two neighbours in double.
inline std::uint16_t bfloat16_encode(float value) {
  if (std::isnan(value)) return 0x7FFF;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isinf(value)) return static_cast<std::uint16_t>(bits >> 16);
  const std::uint32_t down = bits >> 16, up = down + 1;
  const double low = std::bit_cast<float>(down << 16);
  // Above the largest BF16 the next "value" is the one the exponent would give, 2^128.
  const bool beyond = (up & 0x7FFFu) == 0x7F80u;
  const double high = beyond ? std::copysign(0x1p128, value) : double{std::bit_cast<float>(up << 16)};
  const double to_low = std::abs(value - low), to_high = std::abs(high - value);
  if (to_low != to_high) return static_cast<std::uint16_t>(to_low < to_high ? down : up);
  return static_cast<std::uint16_t>(down % 2 == 0 ? down : up);
}

/// One code as an integer of its width.
inline std::uint32_t encode(Format format, float value) {
  switch (format) {
    case Format::fp32:
      return std::bit_cast<std::uint32_t>(value);
    case Format::bf16:
      return bfloat16_encode(value);
    case Format::e4m3:
      return fp8_encode(e4m3, value);
    case Format::e5m2:
      return fp8_encode(e5m2, value);
    case Format::int8:
      if (std::isnan(value)) return 0x80;
      return static_cast<std::uint8_t>(static_cast<int>(std::clamp(std::nearbyint(value), -127.0f, 127.0f)));
  }
  return 0;
}

inline double decode(Format format, std::uint32_t code) {
  switch (format) {
    case Format::fp32:
      return std::bit_cast<float>(code);
    case Format::bf16:
      return std::bit_cast<float>(code << 16);
    case Format::e4m3:
      return fp8_decode(e4m3, static_cast<int>(code));
    case Format::e5m2:
      return fp8_decode(e5m2, static_cast<int>(code));
    case Format::int8:
      if (code == 0x80) return std::numeric_limits<double>::quiet_NaN();
      return static_cast<std::int8_t>(code);
  }
  return 0;
}

inline std::uint32_t load_code(Format format, const std::vector<std::uint8_t>& codes, std::int64_t wire) {
  std::uint32_t code = 0;
  const std::int64_t width = bytes_per_code(format);
  std::memcpy(&code, codes.data() + wire * width, static_cast<std::size_t>(width));
  return code;
}

inline std::vector<float> group_amax(const std::vector<float>& x, const std::vector<Tile>& tiles,
                                     std::int64_t groups) {
  std::vector<float> amax(static_cast<std::size_t>(groups), 0.0f);
  for (const Tile& tile : tiles) {
    float& largest = amax[static_cast<std::size_t>(tile.group)];
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const float value = std::abs(x[static_cast<std::size_t>(tile.source + i)]);
      largest = std::isfinite(value) ? std::max(largest, value) : std::numeric_limits<float>::infinity();
      if (!std::isfinite(value)) break;
    }
  }
  return amax;
}

/// Nearest-even codes, residual (may be null) and counts.
inline QuantizeCounters quantize(Format format, const std::vector<float>& x, const std::vector<Tile>& tiles,
                                 const std::vector<float>& scale, std::vector<std::uint8_t>& codes,
                                 std::vector<float>* residual) {
  QuantizeCounters counters;
  const std::int64_t width = bytes_per_code(format);
  for (const Tile& tile : tiles) {
    const float s = has_scale(format) ? scale[static_cast<std::size_t>(tile.group)] : 1.0f;
    const float inverse = 1.0f / s;
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const float value = x[static_cast<std::size_t>(tile.source + i)];
      const float scaled = has_scale(format) ? value * inverse : value;
      const std::uint32_t code = encode(format, scaled);
      std::memcpy(codes.data() + (tile.wire + i) * width, &code, static_cast<std::size_t>(width));
      const double decoded = decode(format, code);
      if (residual != nullptr) {
        (*residual)[static_cast<std::size_t>(tile.source + i)] =
            std::fma(-s, static_cast<float>(decoded), value);
      }
      counters.elements += 1;
      counters.non_finite += std::isfinite(value) ? 0 : 1;
      counters.saturated += std::isfinite(value) && std::abs(double{scaled}) > max_finite(format) ? 1 : 0;
      counters.flushed += value != 0.0f && decoded == 0.0 ? 1 : 0;
      counters.subnormal += decoded != 0.0 && std::abs(decoded) < min_normal(format) ? 1 : 0;
    }
  }
  return counters;
}

/// x = code * (scale * factor), or x += scale * code with one rounding.
inline void dequantize(Format format, const std::vector<std::uint8_t>& codes, const std::vector<Tile>& tiles,
                       const std::vector<float>& scale, float factor, bool accumulate,
                       std::vector<float>& x) {
  for (const Tile& tile : tiles) {
    const float s = has_scale(format) ? scale[static_cast<std::size_t>(tile.group)] : 1.0f;
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const auto value = static_cast<float>(decode(format, load_code(format, codes, tile.wire + i)));
      float& target = x[static_cast<std::size_t>(tile.source + i)];
      target = accumulate ? std::fma(s, value, target) : value * (s * factor);
    }
  }
}

}  // namespace minigift::reference
