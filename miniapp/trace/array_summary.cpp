#include "miniapp/trace/array_summary.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace minigift {
namespace {

constexpr std::uint32_t infinity_bits = 0x7F800000u;

}  // namespace

void ArraySummary::add(const float* x, std::int64_t count) {
  // Block by block, so that the second loop finds its elements in the cache.
  constexpr std::int64_t block = 4096;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t length = std::min(block, count - begin);
    const float* part = x + begin;
    hash_.add(part, 4 * length);
    // Magnitudes of floats are in the order of their bits; infinity and NaN come after all others.
    std::uint32_t largest = 0;
    std::uint32_t beyond = 0;
#pragma omp simd reduction(max : largest) reduction(+ : beyond)
    for (std::int64_t i = 0; i < length; ++i) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(part[i]) & 0x7FFFFFFFu;
      largest = bits > largest ? bits : largest;
      beyond += bits >= infinity_bits ? 1u : 0u;
    }
    largest_bits_ = std::max(largest_bits_, largest);
    non_finite_ += beyond;
  }
}

float ArraySummary::amax() const {
  return largest_bits_ >= infinity_bits ? std::numeric_limits<float>::infinity()
                                        : std::bit_cast<float>(largest_bits_);
}

}  // namespace minigift
