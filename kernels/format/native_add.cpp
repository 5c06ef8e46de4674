#include "kernels/error.hpp"
#include "kernels/format/codec.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/format/tile_loop.hpp"

namespace minigift {
namespace {

std::int64_t teams_for(std::int64_t elements) {
  return (elements + max_tile_elements - 1) / max_tile_elements;
}

/// Tile `league_rank` of a flat buffer.
struct FlatTile {
  std::int64_t begin;
  int count;
};
KOKKOS_FORCEINLINE_FUNCTION FlatTile flat_tile(const TeamMember& member, std::int64_t elements) {
  const std::int64_t begin = member.league_rank() * max_tile_elements;
  const std::int64_t left = elements - begin;
  return {begin, static_cast<int>(left < max_tile_elements ? left : max_tile_elements)};
}

/// to[i] = operation(from[i], to[i]) for the tile of each team; `width` elements at a time on a GPU.
template <int width, class From, class To, class Operation>
struct Transform {
  Vector<const From> from;
  Vector<To> to;
  Operation operation;

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    const FlatTile tile = flat_tile(member, static_cast<std::int64_t>(from.extent(0)));
    const From* in = from.data() + tile.begin;
    To* out = to.data() + tile.begin;
    if constexpr (scalar_lanes) {
      const bool aligned = is_aligned<width>(in) && is_aligned<width>(out);
      for_packs<width>(member, tile.count, aligned, [&](int first, auto pack_width) {
        constexpr int n = decltype(pack_width)::value;
        const Pack<From, n> source = load_pack<n>(in + first);
        Pack<To, n> target;
        if constexpr (Operation::reads_target) target = load_pack<n>(out + first);
        for (int i = 0; i < n; ++i)
          operation(source.value[i], target.value[i]);
        store_pack(target, out + first);
      });
    } else {
      for_spans(member, tile.count, [&](int first, int count) {
        const From* source = in + first;
        To* target = out + first;
        const Operation apply = operation;
        for_lanes(count, [=](int i) { apply(source[i], target[i]); });
      });
    }
  }
};

template <int width, class Operation, class From, class To>
void transform(const char* label, const Vector<const From>& from, const Vector<To>& to) {
  Kokkos::parallel_for(label, tile_policy(teams_for(size(from))),
                       Transform<width, From, To, Operation>{from, to, {}});
}

template <class Codec>
struct AddCode {
  static constexpr bool reads_target = true;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(typename Codec::Code incoming,
                                              typename Codec::Code& sum) const {
    sum = Codec::encode(Codec::decode(incoming) + Codec::decode(sum));
  }
};
struct ToBfloat16 {
  static constexpr bool reads_target = false;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float x, bfloat16& y) const { y.bits = to_bfloat16(x).bits; }
};
struct ToFloat {
  static constexpr bool reads_target = false;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(bfloat16 x, float& y) const { y = to_float(x); }
};

}  // namespace

void native_add(Format format, const Vector<const std::uint8_t>& incoming,
                const Vector<std::uint8_t>& accumulator) {
  require(format != Format::int8, "int8 codes cannot be added: use a reduction that sums in fp32");
  require(size(incoming) == size(accumulator), "{} incoming bytes for an accumulator of {}", size(incoming),
          size(accumulator));
  with_codec(format, [&](auto codec) {
    using Codec = decltype(codec);
    using Code = typename Codec::Code;
    constexpr int width = 16 / static_cast<int>(sizeof(Code));
    transform<width, AddCode<Codec>>("minigift::native_add", as_codes<Code>(incoming),
                                     as_codes<Code>(accumulator));
  });
}

void convert_to_bfloat16(const Vector<const float>& x, const Vector<bfloat16>& y) {
  require(size(x) == size(y), "conversion of {} elements into {}", size(x), size(y));
  transform<4, ToBfloat16>("minigift::convert_to_bfloat16", x, y);
}

void convert_to_float(const Vector<const bfloat16>& x, const Vector<float>& y) {
  require(size(x) == size(y), "conversion of {} elements into {}", size(x), size(y));
  transform<4, ToFloat>("minigift::convert_to_float", x, y);
}

}  // namespace minigift
