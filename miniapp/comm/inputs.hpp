#pragma once
// What the ranks send. Every element is a pure function of (seed, rank, index), made of integers and powers
// of two alone: every rank can form any other rank's element, with the same bits on any machine.
//
//   x_r(i) = v 2^-(23 + e)     v = sum of four uniform integers of 23 bits, less 2^24, its last bit set
//                              e = 0 ... 7, uniform
//
// The sum of four uniform numbers is close to a normal one (Irwin and Hall, 1927) and the factor 2^-e spreads
// magnitudes over eight binades: |x| <= 2. Elements are multiples of 2^-30, never zero, with up to 24
// significant bits, so that casts and additions round in every format. Sums of up to 2^22 ranks are
// exact in FP64.

#include "kernels/bit_cast.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace minigift {

/// Streams of one rank.
enum class InputStream : std::uint32_t { elements = 0, bytes = 1 };
inline PhiloxKey input_key(std::int64_t seed, int rank, InputStream stream) {
  return philox_key(static_cast<std::uint64_t>(seed), 0, static_cast<std::uint32_t>(stream),
                    static_cast<std::uint32_t>(rank));
}

/// Element i.
KOKKOS_FORCEINLINE_FUNCTION float input_element(const PhiloxKey& key, std::int64_t i) {
  const PhiloxBlock block = philox_block(key, i);
  const std::uint32_t sum = (block.word0 >> 9) + (block.word1 >> 9) + (block.word2 >> 9) + (block.word3 >> 9);
  const std::int32_t centred = (static_cast<std::int32_t>(sum) - (1 << 24)) | 1;
  const std::uint32_t spread = block.word0 & 7u;
  return static_cast<float>(centred) * bit_cast<float>((127u - 23u - spread) << 23);
}

/// Byte i of what only travels: byte i mod 16 of block i / 16.
KOKKOS_FORCEINLINE_FUNCTION std::uint8_t input_byte(const PhiloxBlock& block, std::int64_t i) {
  return static_cast<std::uint8_t>(block.word((i >> 2) & 3) >> (8 * (i & 3)));
}

/// bytes <- the stream of `key` from byte `first` (a multiple of 16) on.
void fill_input_bytes(const PhiloxKey& key, std::int64_t first, const Vector<std::uint8_t>& bytes);
/// How many of `bytes` differ from that.
std::int64_t count_wrong_bytes(const PhiloxKey& key, std::int64_t first,
                               const Vector<const std::uint8_t>& bytes);

/// Exact sums over the ranks of a range of elements, and of their magnitudes.
struct ExactSums {
  std::vector<double> sum;
  std::vector<double> magnitude;
};

/// The gradients of one size.
class GradientInputs {
 public:
  GradientInputs(std::int64_t seed, std::int64_t count, int rank, int ranks);

  std::int64_t seed() const { return seed_; }
  std::int64_t count() const { return count_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// This rank's gradient (count), with all signs changed if `negated`: so that what is left from an
  /// iteration before is wrong in this one.
  const Vector<float>& gradient(bool negated);
  /// Of elements [first, first + count), not negated. Kept.
  const ExactSums& sums(std::int64_t first, std::int64_t count);
  /// (count): for whoever decodes a result.
  const Vector<float>& scratch();

 private:
  std::int64_t seed_;
  std::int64_t count_;
  int rank_;
  int ranks_;
  bool negated_ = false;
  Vector<float> gradient_;
  Vector<float> scratch_;
  std::map<std::pair<std::int64_t, std::int64_t>, ExactSums> sums_;
};

}  // namespace minigift
