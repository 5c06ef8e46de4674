#pragma once
// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011. A random number is a pure function of (key, counter): nothing is stored, so results
// do not depend on threads, ranks or order, and a restart continues where it stopped.
//
// A stream is named by (seed, step, tensor, rank) and read at a 64-bit index:
//
//   key      128 bits: philox_key() passes (step, tensor, rank) as the counter of a block keyed by the seed.
//   For a fixed
//            seed that map is a bijection, so two streams of one seed never coincide.
//   block    counter = (index low, index high, key words 2, 3), cipher key = key words 0, 1.

#include "kernels/math.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace minigift {

/// Four 32-bit words: one block of output.
struct PhiloxBlock {
  std::uint32_t word0, word1, word2, word3;

  /// Word `index` of 0 ... 3, without indexed access to registers.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t word(std::int64_t index) const {
    const std::uint32_t low = (index & 1) != 0 ? word1 : word0;
    const std::uint32_t high = (index & 1) != 0 ? word3 : word2;
    return (index & 2) != 0 ? high : low;
  }
};

/// Names one stream. Make it with philox_key().
struct PhiloxKey {
  std::uint32_t key0 = 0, key1 = 0;        // cipher key
  std::uint32_t stream0 = 0, stream1 = 0;  // upper half of the counter
};

/// The cipher: ten rounds, the round key raised by the Weyl constants before each but the first.
KOKKOS_FORCEINLINE_FUNCTION PhiloxBlock philox4x32(PhiloxBlock counter, std::uint32_t key0,
                                                   std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter.word0;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter.word2;
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter.word1 ^ key0,
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter.word3 ^ key1,
               static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// The key of a stream.
KOKKOS_INLINE_FUNCTION PhiloxKey philox_key(std::uint64_t seed, std::uint64_t step, std::uint32_t tensor,
                                            std::uint32_t rank) {
  const PhiloxBlock block =
      philox4x32({static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32), tensor, rank},
                 static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  return {block.word0, block.word1, block.word2, block.word3};
}

/// Block `index` of a stream: words 4*index ... 4*index+3 of its sequence.
KOKKOS_FORCEINLINE_FUNCTION PhiloxBlock philox_block(const PhiloxKey& key, std::int64_t index) {
  const auto counter = static_cast<std::uint64_t>(index);
  return philox4x32({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                     key.stream0, key.stream1},
                    key.key0, key.key1);
}

/// Word `index` of a stream: 32 uniform bits.
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t philox_bits(const PhiloxKey& key, std::int64_t index) {
  return philox_block(key, index >> 2).word(index);
}

/// Uniform on the multiples of 2^-24 in [0, 1).
KOKKOS_FORCEINLINE_FUNCTION float uniform_from_bits(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}
KOKKOS_FORCEINLINE_FUNCTION float philox_uniform(const PhiloxKey& key, std::int64_t index) {
  return uniform_from_bits(philox_bits(key, index));
}

/// Uniform integer in [0, bound), bound < 2^32, by the multiply-shift map; bias below bound / 2^64.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t philox_integer(const PhiloxKey& key, std::int64_t index,
                                                        std::int64_t bound) {
  const PhiloxBlock block = philox_block(key, index);
  const std::uint64_t low = std::uint64_t{block.word0} * static_cast<std::uint64_t>(bound);
  const std::uint64_t high = std::uint64_t{block.word1} * static_cast<std::uint64_t>(bound);
  return static_cast<std::int64_t>((high + (low >> 32)) >> 32);
}

/// Element `index` of a standard normal sequence (Box and Muller, 1958; |z| <= 5.8): the pair (2k, 2k+1) is
/// the cosine and sine of one radius and angle, taken from words 2k, 2k+1 of the stream.
KOKKOS_INLINE_FUNCTION float philox_normal(const PhiloxKey& key, std::int64_t index) {
  const PhiloxBlock block = philox_block(key, index >> 2);
  const std::int64_t pair = index & 2;
  const float radius_uniform =
      1.0f - uniform_from_bits(block.word(pair));  // in (0, 1]: the logarithm is finite
  const float angle = 6.28318530717958647692f * uniform_from_bits(block.word(pair + 1));
  const float radius = math::sqrt(-2.0f * math::log(radius_uniform));
  return radius * ((index & 1) != 0 ? math::sin(angle) : math::cos(angle));
}

}  // namespace minigift
