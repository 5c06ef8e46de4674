#include "kernels/format/quantize.hpp"

#include "kernels/error.hpp"
#include "kernels/format/codec.hpp"
#include "kernels/format/tile_loop.hpp"
#include "kernels/math.hpp"

namespace minigift {
namespace {

// Four counts of one span, one byte each: saturated, flushed, subnormal, non-finite from the lowest. A span
// has fewer than 256 elements, a tile at most 4096, so the counts of a tile fit in four 16-bit fields.
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t widen_counts(std::uint32_t packed) {
  const std::uint64_t low = packed & 0xFFFFu, high = packed >> 16;
  return (low & 0xFFu) | ((low >> 8) << 16) | ((high & 0xFFu) << 32) | ((high >> 8) << 48);
}

/// Encodes single elements of one tile.
template <class Codec, bool counting, bool keeping>
struct ElementEncoder {
  const float* in;
  typename Codec::Code* out;
  float* residual;
  float scale, inverse;

  /// Encodes element i and returns its packed counts. `random` is used by stochastic rounding only.
  template <bool stochastic>
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t encode(int i, [[maybe_unused]] std::uint32_t random) const {
    const float value = in[i];
    const float scaled = Codec::scaled ? value * inverse : value;
    typename Codec::Code code;
    if constexpr (stochastic) {
      code = Codec::encode_stochastic(scaled, random);
    } else {
      code = Codec::encode(scaled);
    }
    out[i] = code;
    if constexpr (keeping) residual[i] = math::fma(-scale, Codec::decode(code), value);
    if constexpr (!counting) return 0;
    const std::uint32_t value_bits = bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu;
    const std::uint32_t scaled_bits = bit_cast<std::uint32_t>(scaled) & 0x7FFFFFFFu;
    const std::uint32_t magnitude = Codec::magnitude(code);
    const bool non_finite = value_bits >= 0x7F800000u;
    const bool saturated = !non_finite & (scaled_bits > Codec::max_finite_bits);
    const bool flushed = (magnitude == 0) & (value_bits != 0);
    const bool subnormal = magnitude - 1u < Codec::min_normal_code - 1u;
    return (saturated ? 1u : 0u) | (flushed ? 1u << 8 : 0u) | (subnormal ? 1u << 16 : 0u) |
           (non_finite ? 1u << 24 : 0u);
  }
};

/// The encoder of one span: `elements` elements from `first` on.
template <class Codec, bool counting, bool keeping>
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t encode_nearest(
    const TeamMember& member, int count, const ElementEncoder<Codec, counting, keeping>& encoder) {
  if constexpr (counting) {
    return sum_lanes<std::uint32_t>(member, count,
                                    [=](int i) { return encoder.template encode<false>(i, 0); });
  } else {
    for_lanes(member, count, [=](int i) { encoder.template encode<false>(i, 0); });
    return 0;
  }
}

/// A span of wire elements 64*span ... 64*span + 63, of which those within the tile, [first, first + count),
/// are encoded. Lane l computes block 16*span + l and uses its words for elements l, l + 16, l + 32, l + 48.
template <class Codec, bool counting, bool keeping>
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t encode_stochastic(
    const TeamMember& member, std::int64_t span, std::int64_t first, int count, const PhiloxKey& key,
    const ElementEncoder<Codec, counting, keeping>& encoder) {
  const auto offset = static_cast<int>(64 * span - first);  // of the span's first element, in the tile
  if (offset >= 0 && offset + 64 <= count) {
    return sum_lanes<std::uint32_t>(member, 16, [=](int lane) {
      const PhiloxBlock block = philox_block(key, 16 * span + lane);
      const int i = offset + lane;
      return encoder.template encode<true>(i, block.word0) +
             encoder.template encode<true>(i + 16, block.word1) +
             encoder.template encode<true>(i + 32, block.word2) +
             encoder.template encode<true>(i + 48, block.word3);
    });
  }
  return sum_lanes<std::uint32_t>(member, 16, [=](int lane) {
    const PhiloxBlock block = philox_block(key, 16 * span + lane);
    std::uint32_t counts = 0;
    for (int quarter = 0; quarter < 4; ++quarter) {
      const int i = offset + 16 * quarter + lane;
      if (i >= 0 && i < count) counts += encoder.template encode<true>(i, block.word(quarter));
    }
    return counts;
  });
}

template <class Codec, bool stochastic, bool counting, bool keeping>
struct Quantize {
  using Code = typename Codec::Code;
  Vector<const float> x;
  Tiles tiles;
  Vector<const float> scale;
  Vector<Code> codes;
  Vector<float> residual;
  PhiloxKey key;
  Vector<unsigned long long> counts;

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    const Tile tile = tiles(member.league_rank());
    const float group_scale = Codec::scaled ? scale(tile.group) : 1.0f;
    const ElementEncoder<Codec, counting, keeping> encoder{x.data() + tile.source, codes.data() + tile.wire,
                                                           keeping ? residual.data() + tile.source : nullptr,
                                                           group_scale, 1.0f / group_scale};
    const PhiloxKey stream = key;
    const std::int64_t first_span = stochastic ? tile.wire >> 6 : 0;
    const std::int64_t end_span =
        stochastic ? (tile.wire + tile.count + 63) >> 6 : (tile.count + span_elements - 1) / span_elements;
    const auto spans = tile.count == 0 ? 0 : static_cast<int>(end_span - first_span);
    const auto encode_span = [&](int span) -> std::uint32_t {
      if constexpr (stochastic) {
        return encode_stochastic(member, first_span + span, tile.wire, tile.count, stream, encoder);
      } else {
        const int first = span * span_elements;
        const int left = tile.count - first;
        const ElementEncoder<Codec, counting, keeping> part{encoder.in + first, encoder.out + first,
                                                            keeping ? encoder.residual + first : nullptr,
                                                            encoder.scale, encoder.inverse};
        return encode_nearest(member, left < span_elements ? left : span_elements, part);
      }
    };
    if constexpr (counting) {
      std::uint64_t total = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(member, spans),
          [&](int span, std::uint64_t& partial) { partial += widen_counts(encode_span(span)); }, total);
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
      a.x, a.tiles, a.scale, as_codes<typename Codec::Code>(a.codes), a.residual, a.key, a.counts};
  Kokkos::parallel_for("minigift::quantize", tile_policy(size(a.tiles), stochastic ? 16 : 32), kernel);
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

struct CountElements {
  Tiles tiles;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& total) const { total += tiles(i).count; }
};

}  // namespace

void quantize(Format format, Rounding rounding, const Vector<const float>& x, const Tiles& tiles,
              const Vector<const float>& scale, const Vector<std::uint8_t>& codes,
              const Vector<float>& residual, PhiloxKey key, QuantizeCounters* counters) {
  require(residual.size() == 0 || residual.size() == x.size(), "a residual of {} elements for a buffer of {}",
          size(residual), size(x));
  Vector<unsigned long long> counts;
  if (counters != nullptr) counts = Vector<unsigned long long>("quantize counts", 4);
  const Arguments arguments{x, tiles, scale, codes, residual, key, counts};
  with_codec(format, [&](auto codec) {
    using Codec = decltype(codec);
    if (rounding == Rounding::stochastic) return launch_variant<Codec, true>(arguments);
    return launch_variant<Codec, false>(arguments);
  });
  if (counters == nullptr) return;
  QuantizeCounters added;
  Kokkos::parallel_reduce("minigift::quantize_elements", Range(0, size(tiles)), CountElements{tiles},
                          added.elements);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), counts);
  added.saturated = static_cast<std::int64_t>(host(0));
  added.flushed = static_cast<std::int64_t>(host(1));
  added.subnormal = static_cast<std::int64_t>(host(2));
  added.non_finite = static_cast<std::int64_t>(host(3));
  *counters += added;
}

}  // namespace minigift
