#include "kernels/format/quantize.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/codec.hpp"
#include "kernels/format/tile_loop.hpp"
#include "kernels/math.hpp"

namespace minigift {
namespace {

/// The elements of one tile, or of a span of it, and how they are encoded.
template <class Codec, bool keeping>
struct Encoder {
  using Code = typename Codec::Code;
  const float* in;
  Code* out;
  float* residual;
  float scale, inverse;

  KOKKOS_FORCEINLINE_FUNCTION Encoder from(int first) const {
    return {in + first, out + first, keeping ? residual + first : nullptr, scale, inverse};
  }
  KOKKOS_FORCEINLINE_FUNCTION float scaled(int i) const { return Codec::scaled ? in[i] * inverse : in[i]; }

  KOKKOS_FORCEINLINE_FUNCTION void nearest(int i) const { finish(i, Codec::encode(scaled(i))); }
  KOKKOS_FORCEINLINE_FUNCTION void stochastic(int i, std::uint32_t random) const {
    finish(i, Codec::encode_stochastic(scaled(i), random));
  }
  KOKKOS_FORCEINLINE_FUNCTION void finish(int i, Code code) const {
    const float value = in[i];
    out[i] = code;
    if constexpr (keeping) residual[i] = math::fma(-scale, Codec::decode(code), value);
  }
};

// The four counts of a tile in one word: saturated, flushed, subnormal, non-finite, 16 bits each from the
// lowest. A tile has at most 4096 elements. They are taken in two short passes over a span, while it is in
// the cache: one over the values before they are encoded (the residual may overwrite them), one over the
// codes afterwards.
constexpr int flushed_shift = 16, subnormal_shift = 32, non_finite_shift = 48;

/// Saturated and non-finite values, and minus the zeros in the field of the flushed: see count_codes().
template <class Codec, bool keeping>
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t count_values(const TeamMember& member, int count,
                                                       const Encoder<Codec, keeping>& span) {
  const auto magnitude = [](float value) { return bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu; };
  // One maximum tells whether there is anything to count: subtracting 1 makes zero the largest word of all,
  // and scaling maps a non-finite value to a non-finite one.
  const std::uint32_t largest =
      max_lanes(member, count, [=](int i) { return magnitude(span.scaled(i)) - 1u; });
  if (largest < Codec::max_finite_bits) return 0;
  const auto zeros = sum_lanes<std::uint32_t>(
      member, count, [=](int i) -> std::uint32_t { return magnitude(span.in[i]) == 0 ? 1 : 0; });
  const auto non_finite = sum_lanes<std::uint32_t>(
      member, count, [=](int i) -> std::uint32_t { return magnitude(span.in[i]) >= 0x7F800000u ? 1 : 0; });
  const auto beyond = sum_lanes<std::uint32_t>(member, count, [=](int i) -> std::uint32_t {
    return magnitude(span.scaled(i)) > Codec::max_finite_bits ? 1 : 0;
  });
  return (std::uint64_t{non_finite} << non_finite_shift) + (beyond - non_finite) -
         (std::uint64_t{zeros} << flushed_shift);
}

/// Subnormal and zero codes. A zero value always has a zero code, so zero codes less zero values are the
/// flushed.
template <class Codec, bool keeping>
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t count_codes(const TeamMember& member, int count,
                                                      const Encoder<Codec, keeping>& span) {
  const auto zeros = sum_lanes<SpanCount>(
      member, count, [=](int i) -> SpanCount { return Codec::magnitude(span.out[i]) == 0 ? 1 : 0; });
  std::uint64_t counts = std::uint64_t{zeros} << flushed_shift;
  if constexpr (Codec::min_normal_code > 1) {
    const auto below_normal = sum_lanes<SpanCount>(member, count, [=](int i) -> SpanCount {
      return Codec::magnitude(span.out[i]) < Codec::min_normal_code ? 1 : 0;
    });
    counts += (std::uint64_t{below_normal} - zeros) << subnormal_shift;
  }
  return counts;
}

/// Encodes wire elements 64*block_row ... 64*block_row + 63 as far as they lie within the tile, which begins
/// at `wire` and has `count` elements. Lane l computes block 16*block_row + l and uses its words for elements
/// l, l + 16, l + 32, l + 48.
template <class Codec, bool keeping>
KOKKOS_FORCEINLINE_FUNCTION void encode_stochastic(const TeamMember& member, std::int64_t block_row,
                                                   std::int64_t wire, int count, const PhiloxKey& key,
                                                   const Encoder<Codec, keeping>& tile) {
  const auto offset = static_cast<int>(64 * block_row - wire);
  if (offset >= 0 && offset + 64 <= count) {
    const Encoder<Codec, keeping> row = tile.from(offset);
    for_lanes(member, 16, [=](int lane) {
      const PhiloxBlock block = philox_block(key, 16 * block_row + lane);
      row.stochastic(lane, block.word0);
      row.stochastic(lane + 16, block.word1);
      row.stochastic(lane + 32, block.word2);
      row.stochastic(lane + 48, block.word3);
    });
    return;
  }
  for_lanes(member, 16, [=](int lane) {
    const PhiloxBlock block = philox_block(key, 16 * block_row + lane);
    for (int quarter = 0; quarter < 4; ++quarter) {
      const int i = offset + 16 * quarter + lane;
      if (i >= 0 && i < count) tile.stochastic(i, block.word(quarter));
    }
  });
}

template <class Codec, bool stochastic, bool counting, bool keeping>
struct Quantize {
  using Code = typename Codec::Code;
  Vector<const float> x;
  Vector<const Tile> tiles;
  Vector<const float> scale;
  Vector<Code> codes;
  Vector<float> residual;
  PhiloxKey key;
  Vector<unsigned long long> counts;

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    const Tile tile = tiles(member.league_rank());
    const float group_scale = Codec::scaled ? scale(tile.group) : 1.0f;
    const Encoder<Codec, keeping> encoder{x.data() + tile.source, codes.data() + tile.wire,
                                          keeping ? residual.data() + tile.source : nullptr, group_scale,
                                          1.0f / group_scale};
    const PhiloxKey stream = key;
    // Stochastic spans are aligned to the rows of 64 wire elements that share 16 blocks.
    const std::int64_t first_row = tile.wire >> 6;
    const int length = stochastic ? 64 : span_elements;
    const auto lead = stochastic ? static_cast<int>(tile.wire & 63) : 0;  // of the first row, before the tile
    const int spans = tile.count == 0 ? 0 : (lead + tile.count + length - 1) / length;
    const auto encode_span = [&](int span) -> std::uint64_t {
      const int begin = span * length - lead;
      const int first = begin > 0 ? begin : 0;
      const int count = (begin + length < tile.count ? begin + length : tile.count) - first;
      const Encoder<Codec, keeping> part = encoder.from(first);
      std::uint64_t counted = 0;
      if constexpr (counting) counted += count_values(member, count, part);
      if constexpr (stochastic) {
        encode_stochastic(member, first_row + span, tile.wire, tile.count, stream, encoder);
      } else {
        for_lanes(member, count, [=](int i) { part.nearest(i); });
      }
      if constexpr (counting) counted += count_codes(member, count, part);
      return counted;
    };
    if constexpr (counting) {
      std::uint64_t total = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(member, spans),
          [&](int span, std::uint64_t& partial) { partial += encode_span(span); }, total);
      Kokkos::single(Kokkos::PerTeam(member), [&]() {
        for (int field = 0; field < 4; ++field) {
          const std::uint64_t count = (total >> (16 * field)) & 0xFFFFu;
          if (count != 0) Kokkos::atomic_add(&counts(field), static_cast<unsigned long long>(count));
        }
      });
    } else {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, spans), [&](int span) { encode_span(span); });
    }
  }
};

struct Arguments {
  const Vector<const float>& x;
  const Tiles& tiles;
  const Vector<const float>& scale;
  const Vector<std::uint8_t>& codes;
  const Vector<float>& residual;
  PhiloxKey key;
  const Vector<unsigned long long>& counts;
};

template <class Codec, bool stochastic, bool counting, bool keeping>
void launch(const Arguments& a) {
  const Quantize<Codec, stochastic, counting, keeping> kernel{
      a.x, a.tiles.view, a.scale, as_codes<typename Codec::Code>(a.codes), a.residual, a.key, a.counts};
  Kokkos::parallel_for("minigift::quantize", tile_policy(a.tiles.count(), stochastic ? 16 : 32), kernel);
}

template <class Codec, bool stochastic>
void launch_variant(const Arguments& a) {
  const bool counting = a.counts.size() > 0;
  const bool keeping = a.residual.size() > 0;
  if (counting && keeping) return launch<Codec, stochastic, true, true>(a);
  if (counting) return launch<Codec, stochastic, true, false>(a);
  if (keeping) return launch<Codec, stochastic, false, true>(a);
  return launch<Codec, stochastic, false, false>(a);
}

}  // namespace

void quantize(Format format, Rounding rounding, const Vector<const float>& x, const Tiles& tiles,
              const Vector<const float>& scale, const Vector<std::uint8_t>& codes,
              const Vector<float>& residual, PhiloxKey key, DeviceCounters* counters) {
  require(residual.size() == 0 || residual.size() == x.size(), "a residual of {} elements for a buffer of {}",
          size(residual), size(x));
  // A handle without memory stands for "do not count".
  const Vector<unsigned long long> counts =
      counters != nullptr ? counters->add(tiles) : Vector<unsigned long long>();
  const Arguments arguments{x, tiles, scale, codes, residual, key, counts};
  with_codec(format, [&](auto codec) {
    using Codec = decltype(codec);
    if (rounding == Rounding::stochastic) return launch_variant<Codec, true>(arguments);
    return launch_variant<Codec, false>(arguments);
  });
}

}  // namespace minigift
