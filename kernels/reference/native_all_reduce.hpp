#pragma once
// Serial forms of Communicator::native_all_reduce and native_reduce_scatter: the same sums in the same order,
// without messages.

#include "kernels/error.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/format/format.hpp"
#include "kernels/format/fp8.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace minigift::reference {

/// The float that the code at `bytes` stands for. Formats without a scale only.
inline float decode(Format format, const std::uint8_t* bytes) {
  switch (format) {
    case Format::e4m3:
      return decode_e4m3(*bytes);
    case Format::e5m2:
      return decode_e5m2(*bytes);
    case Format::bf16: {
      bfloat16 value{};
      std::memcpy(&value.bits, bytes, sizeof(value.bits));
      return to_float(value);
    }
    case Format::fp32: {
      float value = 0.0F;
      std::memcpy(&value, bytes, sizeof(value));
      return value;
    }
    case Format::int8:
      break;
  }
  throw RuntimeError("codes of this format cannot be added");
}

/// Writes the code nearest to `value` (ties to even, FP8 saturating).
inline void encode(Format format, float value, std::uint8_t* bytes) {
  switch (format) {
    case Format::e4m3:
      *bytes = encode_e4m3(value);
      return;
    case Format::e5m2:
      *bytes = encode_e5m2(value);
      return;
    case Format::bf16: {
      const bfloat16 code = to_bfloat16(value);
      std::memcpy(bytes, &code.bits, sizeof(code.bits));
      return;
    }
    case Format::fp32:
      std::memcpy(bytes, &value, sizeof(value));
      return;
    case Format::int8:
      break;
  }
  throw RuntimeError("codes of this format cannot be added");
}

/// codes[r]: the buffer of rank r, all of one size, divisible by N * bytes_per_code(format). A buffer is N
/// equal chunks; with x_r the values of rank r and f = c + first, chunk c of the result is
///   ((x_f + x_{f+1}) + x_{f+2}) + ... + x_{f+N-1},   ranks mod N, rounded to the format after each addition.
inline std::vector<std::uint8_t> ring_sums(Format format, const std::vector<std::vector<std::uint8_t>>& codes,
                                           std::size_t first) {
  const std::size_t ranks = codes.size();
  const auto code_bytes = static_cast<std::size_t>(bytes_per_code(format));
  std::vector<std::uint8_t> sum(codes.at(0).size());
  const std::size_t chunk_bytes = sum.size() / ranks;
  for (std::size_t at = 0; at < sum.size(); at += code_bytes) {
    const std::size_t chunk = at / chunk_bytes;
    std::memcpy(&sum[at], &codes[(chunk + first) % ranks][at], code_bytes);
    for (std::size_t hop = 1; hop < ranks; ++hop) {
      const float received = decode(format, &sum[at]);
      const float own = decode(format, &codes[(chunk + first + hop) % ranks][at]);
      encode(format, received + own, &sum[at]);
    }
  }
  return sum;
}

/// What every rank holds after an all-reduce: the chunk's own rank is added first.
inline std::vector<std::uint8_t> native_all_reduce(Format format,
                                                   const std::vector<std::vector<std::uint8_t>>& codes) {
  return ring_sums(format, codes, 0);
}

/// What the ranks hold after a reduce-scatter, chunk r being rank r's: the chunk's own rank is added last.
inline std::vector<std::uint8_t> native_reduce_scatter(Format format,
                                                       const std::vector<std::vector<std::uint8_t>>& codes) {
  return ring_sums(format, codes, 1);
}

}  // namespace minigift::reference
