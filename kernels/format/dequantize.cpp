#include "kernels/format/codec.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/format/tile_loop.hpp"
#include "kernels/math.hpp"

namespace minigift {
namespace {

template <class Codec, bool accumulating>
struct Dequantize {
  Vector<const typename Codec::Code> codes;
  Vector<const Tile> tiles;
  Vector<const float> scale;
  float factor;
  Vector<float> x;

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    const Tile tile = tiles(member.league_rank());
    const auto* in = codes.data() + tile.wire;
    float* out = x.data() + tile.source;
    const float multiplier = Codec::scaled ? scale(tile.group) * factor : factor;
    if constexpr (scalar_lanes) {
      // Four codes and four floats at a time.
      const bool aligned = is_aligned<4>(in) && is_aligned<4>(out);
      for_packs<4>(member, tile.count, aligned, [&](int first, auto width) {
        constexpr int n = decltype(width)::value;
        const auto from = load_pack<n>(in + first);
        Pack<float, n> to;
        if constexpr (accumulating) to = load_pack<n>(out + first);
        for (int i = 0; i < n; ++i) {
          const float value = Codec::decode(from.value[i]);
          if constexpr (accumulating) {
            to.value[i] = math::fma(multiplier, value, to.value[i]);
          } else {
            to.value[i] = value * multiplier;
          }
        }
        store_pack(to, out + first);
      });
    } else {
      for_spans(member, tile.count, [&](int first, int count) {
        const auto* from = in + first;
        float* to = out + first;
        const float by = multiplier;
        for_lanes(count, [=](int i) {
          const float value = Codec::decode(from[i]);
          if constexpr (accumulating) {
            to[i] = math::fma(by, value, to[i]);
          } else {
            to[i] = value * by;
          }
        });
      });
    }
  }
};

}  // namespace

void dequantize(Format format, const Vector<const std::uint8_t>& codes, const Tiles& tiles,
                const Vector<const float>& scale, float factor, const Vector<float>& x) {
  with_codec(format, [&](auto codec) {
    using Codec = decltype(codec);
    const Dequantize<Codec, false> kernel{as_codes<typename Codec::Code>(codes), tiles.view, scale, factor,
                                          x};
    Kokkos::parallel_for("minigift::dequantize", tile_policy(tiles.count()), kernel);
  });
}

void dequantize_add(Format format, const Vector<const std::uint8_t>& codes, const Tiles& tiles,
                    const Vector<const float>& scale, const Vector<float>& x) {
  with_codec(format, [&](auto codec) {
    using Codec = decltype(codec);
    const Dequantize<Codec, true> kernel{as_codes<typename Codec::Code>(codes), tiles.view, scale, 1.0f, x};
    Kokkos::parallel_for("minigift::dequantize_add", tile_policy(tiles.count()), kernel);
  });
}

}  // namespace minigift
