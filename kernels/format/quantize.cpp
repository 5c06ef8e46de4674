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
// lowest. A tile has at most 4096 elements. On a host they are taken in two short passes over a span, while
// it is in the cache: one over the values before they are encoded (the residual may overwrite them), one over
// the codes afterwards. On a GPU each element is counted as it is encoded, so it is read and written once.
constexpr int flushed_shift = 16, subnormal_shift = 32, non_finite_shift = 48;

/// Saturated and non-finite values, and minus the zeros in the field of the flushed: see count_codes().
template <class Codec, bool keeping>
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t count_values(int count, const Encoder<Codec, keeping>& span) {
  const auto magnitude = [](float value) { return bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu; };
  // One maximum tells whether there is anything to count: subtracting 1 makes zero the largest word of all,
  // and scaling maps a non-finite value to a non-finite one.
  const std::uint32_t largest = max_lanes(count, [=](int i) { return magnitude(span.scaled(i)) - 1u; });
  if (largest < Codec::max_finite_bits) return 0;
  const auto zeros = sum_lanes<std::uint32_t>(
      count, [=](int i) -> std::uint32_t { return magnitude(span.in[i]) == 0 ? 1 : 0; });
  const auto non_finite = sum_lanes<std::uint32_t>(
      count, [=](int i) -> std::uint32_t { return magnitude(span.in[i]) >= 0x7F800000u ? 1 : 0; });
  const auto beyond = sum_lanes<std::uint32_t>(count, [=](int i) -> std::uint32_t {
    return magnitude(span.scaled(i)) > Codec::max_finite_bits ? 1 : 0;
  });
  return (std::uint64_t{non_finite} << non_finite_shift) + (beyond - non_finite) -
         (std::uint64_t{zeros} << flushed_shift);
}

/// Subnormal and zero codes. A zero value always has a zero code, so zero codes less zero values are the
/// flushed.
template <class Codec, bool keeping>
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t count_codes(int count, const Encoder<Codec, keeping>& span) {
  const auto zeros = sum_lanes<SpanCount>(
      count, [=](int i) -> SpanCount { return Codec::magnitude(span.out[i]) == 0 ? 1 : 0; });
  std::uint64_t counts = std::uint64_t{zeros} << flushed_shift;
  if constexpr (Codec::min_normal_code > 1) {
    const auto below_normal = sum_lanes<SpanCount>(count, [=](int i) -> SpanCount {
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
KOKKOS_FORCEINLINE_FUNCTION void encode_stochastic(std::int64_t block_row, std::int64_t wire, int count,
                                                   const PhiloxKey& key,
                                                   const Encoder<Codec, keeping>& tile) {
  const auto offset = static_cast<int>(64 * block_row - wire);
  if (offset >= 0 && offset + 64 <= count) {
    const Encoder<Codec, keeping> row = tile.from(offset);
    for_lanes(16, [=](int lane) {
      const PhiloxBlock block = philox_block(key, 16 * block_row + lane);
      row.stochastic(lane, block.word0);
      row.stochastic(lane + 16, block.word1);
      row.stochastic(lane + 32, block.word2);
      row.stochastic(lane + 48, block.word3);
    });
    return;
  }
  for_lanes(16, [=](int lane) {
    const PhiloxBlock block = philox_block(key, 16 * block_row + lane);
    for (int quarter = 0; quarter < 4; ++quarter) {
      const int i = offset + 16 * quarter + lane;
      if (i >= 0 && i < count) tile.stochastic(i, block.word(quarter));
    }
  });
}

/// The four counts of one element, 8 bits each in the same order, so that those of a pack are added in one
/// word.
template <class Codec>
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t count_element(float value, float scaled,
                                                        typename Codec::Code code) {
  const std::uint32_t magnitude = bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu;
  const bool non_finite = magnitude >= 0x7F800000u;
  const bool beyond = (bit_cast<std::uint32_t>(scaled) & 0x7FFFFFFFu) > Codec::max_finite_bits;
  const std::uint32_t code_magnitude = Codec::magnitude(code);
  std::uint32_t counts = non_finite ? 1u << 24 : beyond ? 1u : 0u;
  if (code_magnitude == 0) {
    if (magnitude != 0) counts += 1u << 8;
  } else if (code_magnitude < Codec::min_normal_code) {
    counts += 1u << 16;
  }
  return counts;
}

KOKKOS_FORCEINLINE_FUNCTION std::uint64_t widened(std::uint32_t counts) {
  return std::uint64_t{counts & 0xFFu} | std::uint64_t{(counts >> 8) & 0xFFu} << flushed_shift |
         std::uint64_t{(counts >> 16) & 0xFFu} << subnormal_shift |
         std::uint64_t{counts >> 24} << non_finite_shift;
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
    std::uint64_t total = 0;
    if constexpr (!scalar_lanes) {
      total = by_spans(member, tile, encoder);
    } else if constexpr (stochastic) {
      total = by_blocks(member, tile, encoder);
    } else {
      total = by_packs(member, tile, encoder);
    }
    if constexpr (counting) {
      Kokkos::single(Kokkos::PerTeam(member), [&]() {
        for (int field = 0; field < 4; ++field) {
          const std::uint64_t count = (total >> (16 * field)) & 0xFFFFu;
          if (count != 0) Kokkos::atomic_add(&counts(field), static_cast<unsigned long long>(count));
        }
      });
    }
  }

  // Each of these encodes a tile and returns its counts, or nothing of use where they are not wanted.

  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t by_spans(const TeamMember& member, const Tile& tile,
                                                     const Encoder<Codec, keeping>& encoder) const {
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
      if constexpr (counting) counted += count_values(count, part);
      if constexpr (stochastic) {
        encode_stochastic(first_row + span, tile.wire, tile.count, stream, encoder);
      } else {
        for_lanes(count, [=](int i) { part.nearest(i); });
      }
      if constexpr (counting) counted += count_codes(count, part);
      return counted;
    };
    if constexpr (counting) {
      std::uint64_t total = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(member, spans),
          [&](int span, std::uint64_t& partial) { partial += encode_span(span); }, total);
      return total;
    } else {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, spans), [&](int span) { encode_span(span); });
      return 0;
    }
  }

  /// Four elements at a time: 16 bytes read, four codes and 16 bytes of residual written.
  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t by_packs(const TeamMember& member, const Tile& tile,
                                                     const Encoder<Codec, keeping>& encoder) const {
    bool aligned = is_aligned<4>(encoder.in) && is_aligned<4>(encoder.out);
    if constexpr (keeping) aligned = aligned && is_aligned<4>(encoder.residual);
    const auto encode_pack = [&](int first, auto width) -> std::uint64_t {
      constexpr int n = decltype(width)::value;
      const Pack<float, n> values = load_pack<n>(encoder.in + first);
      Pack<Code, n> result;
      Pack<float, n> dropped;
      std::uint32_t counted = 0;
      for (int i = 0; i < n; ++i) {
        const float value = values.value[i];
        const float scaled = Codec::scaled ? value * encoder.inverse : value;
        const Code code = Codec::encode(scaled);
        result.value[i] = code;
        if constexpr (keeping) dropped.value[i] = math::fma(-encoder.scale, Codec::decode(code), value);
        if constexpr (counting) counted += count_element<Codec>(value, scaled, code);
      }
      store_pack(result, encoder.out + first);
      if constexpr (keeping) store_pack(dropped, encoder.residual + first);
      return widened(counted);
    };
    if constexpr (counting) {
      return reduce_packs<4, Kokkos::Sum, std::uint64_t>(member, tile.count, aligned, encode_pack);
    } else {
      for_packs<4>(member, tile.count, aligned, encode_pack);
      return 0;
    }
  }

  /// A thread computes one block of random words and uses all four: see stochastic_word(). 16 neighbouring
  /// threads have 16 neighbouring elements, four times.
  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t by_blocks(const TeamMember& member, const Tile& tile,
                                                      const Encoder<Codec, keeping>& encoder) const {
    const auto encode_block = [&](int n) -> std::uint64_t {
      const std::int64_t row = (tile.wire >> 6) + n / 16;
      const int lane = n % 16;
      const PhiloxBlock block = philox_block(key, 16 * row + lane);
      const auto first = static_cast<int>(64 * row - tile.wire) + lane;
      std::uint32_t counted = 0;
      for (int quarter = 0; quarter < 4; ++quarter) {
        const int i = first + 16 * quarter;
        if (i < 0 || i >= tile.count) continue;
        const float value = encoder.in[i];
        const float scaled = Codec::scaled ? value * encoder.inverse : value;
        const Code code = Codec::encode_stochastic(scaled, block.word(quarter));
        encoder.out[i] = code;
        if constexpr (keeping) encoder.residual[i] = math::fma(-encoder.scale, Codec::decode(code), value);
        if constexpr (counting) counted += count_element<Codec>(value, scaled, code);
      }
      return widened(counted);
    };
    const auto lead = static_cast<int>(tile.wire & 63);  // of the first row, before the tile
    const int blocks = tile.count == 0 ? 0 : (lead + tile.count + 63) / 64 * 16;
    if constexpr (counting) {
      return reduce_packs<1, Kokkos::Sum, std::uint64_t>(member, blocks, true,
                                                         [&](int n, auto) { return encode_block(n); });
    } else {
      for_packs<1>(member, blocks, true, [&](int n, auto) { encode_block(n); });
      return 0;
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
  Kokkos::parallel_for("minigift::quantize", tile_policy(a.tiles.count()), kernel);
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
