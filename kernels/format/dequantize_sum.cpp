#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/codec.hpp"
#include "kernels/format/magnitude.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/format/tile_loop.hpp"
#include "kernels/math.hpp"

namespace minigift {
namespace {

/// A span of the sum stays in the first-level cache, a pack of it in registers, while all peers are added.
template <class Codec, bool measuring>
struct DequantizeSum {
  Vector<const typename Codec::Code> codes;
  int peers;
  std::int64_t stride;
  Vector<const Tile> tiles;
  Vector<const float> scale;
  std::int64_t groups;
  Vector<float> x;
  Vector<float> amax;

  KOKKOS_FORCEINLINE_FUNCTION float multiplier(const Tile& tile, int peer) const {
    return Codec::scaled ? scale(peer * groups + tile.group) : 1.0f;
  }

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    const Tile tile = tiles(member.league_rank());
    std::uint32_t largest = 0;
    if constexpr (scalar_lanes) {
      largest = by_packs(member, tile);
    } else {
      largest = by_spans(member, tile);
    }
    if constexpr (measuring) {
      Kokkos::single(Kokkos::PerTeam(member), [&]() { raise_amax(amax(tile.group), largest); });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t by_spans(const TeamMember& member, const Tile& tile) const {
    std::uint32_t largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, (tile.count + span_elements - 1) / span_elements),
        [&](int span, std::uint32_t& partial) {
          const int first = span * span_elements;
          const int left = tile.count - first;
          const int count = left < span_elements ? left : span_elements;
          float* to = x.data() + tile.source + first;
          for_lanes(count, [=](int i) { to[i] = 0.0f; });
          for (int peer = 0; peer < peers; ++peer) {
            const auto* from = codes.data() + peer * stride + tile.wire + first;
            const float by = multiplier(tile, peer);
            for_lanes(count, [=](int i) { to[i] = math::fma(by, Codec::decode(from[i]), to[i]); });
          }
          if constexpr (measuring) {
            const std::uint32_t value = max_lanes(count, [=](int i) { return magnitude(to[i]); });
            partial = value > partial ? value : partial;
          }
        },
        Kokkos::Max<std::uint32_t>(largest));
    return largest;
  }

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t by_packs(const TeamMember& member, const Tile& tile) const {
    const auto* in = codes.data() + tile.wire;
    float* out = x.data() + tile.source;
    const bool aligned = is_aligned<4>(in) && is_aligned<4>(out) && stride % 4 == 0;
    return reduce_packs<4, Kokkos::Max, std::uint32_t>(
        member, tile.count, aligned, [&](int first, auto width) {
          constexpr int n = decltype(width)::value;
          Pack<float, n> sum;
          for (int i = 0; i < n; ++i)
            sum.value[i] = 0.0f;
          for (int peer = 0; peer < peers; ++peer) {
            const auto from = load_pack<n>(in + peer * stride + first);
            const float by = multiplier(tile, peer);
            for (int i = 0; i < n; ++i)
              sum.value[i] = math::fma(by, Codec::decode(from.value[i]), sum.value[i]);
          }
          store_pack(sum, out + first);
          std::uint32_t largest = 0;
          if constexpr (measuring) {
            for (int i = 0; i < n; ++i)
              largest = math::max(magnitude(sum.value[i]), largest);
          }
          return largest;
        });
  }
};

template <class Codec, bool measuring>
void launch(const Vector<const std::uint8_t>& codes, int peers, std::int64_t stride, const Tiles& tiles,
            const Vector<const float>& scale, std::int64_t groups, const Vector<float>& x,
            const Vector<float>& amax) {
  const DequantizeSum<Codec, measuring> kernel{
      as_codes<typename Codec::Code>(codes), peers, stride, tiles.view, scale, groups, x, amax};
  Kokkos::parallel_for("minigift::dequantize_sum", tile_policy(tiles.count()), kernel);
}

}  // namespace

void dequantize_sum(Format format, const Vector<const std::uint8_t>& codes, int peers, std::int64_t stride,
                    const Tiles& tiles, const Vector<const float>& scale, std::int64_t groups,
                    const Vector<float>& x, const Vector<float>& amax) {
  require(size(codes) == peers * stride * bytes_per_code(format),
          "dequantize_sum: {} bytes of codes for {} peers with {} codes each", size(codes), peers, stride);
  require(!has_scale(format) || size(scale) == peers * groups,
          "dequantize_sum: {} scales for {} peers with {} groups each", size(scale), peers, groups);
  const bool measuring = size(amax) > 0;
  require(!measuring || size(amax) == groups, "dequantize_sum: {} maxima for {} groups", size(amax), groups);
  if (measuring) fill(amax, 0.0f);
  with_codec(format, [&](auto codec) {
    using Codec = decltype(codec);
    if (measuring) {
      launch<Codec, true>(codes, peers, stride, tiles, scale, groups, x, amax);
    } else {
      launch<Codec, false>(codes, peers, stride, tiles, scale, groups, x, amax);
    }
  });
}

}  // namespace minigift
