#include "kernels/error.hpp"
#include "kernels/format/codec.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/format/tile_loop.hpp"

namespace minigift {
namespace {

std::int64_t teams_for(std::int64_t elements) {
  return (elements + max_tile_elements - 1) / max_tile_elements;
}

/// Calls body(i) for each element of a flat buffer: tile `league_rank` of max_tile_elements.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_flat_tile(const TeamMember& member, std::int64_t elements,
                                               const Body& body) {
  const std::int64_t begin = member.league_rank() * max_tile_elements;
  const std::int64_t left = elements - begin;
  const auto count = static_cast<int>(left < max_tile_elements ? left : max_tile_elements);
  for_spans(member, count, [&](int first, int length) { body(begin + first, length); });
}

template <class Codec>
struct NativeAdd {
  using Code = typename Codec::Code;
  Vector<const Code> incoming;
  Vector<Code> accumulator;

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    for_flat_tile(member, static_cast<std::int64_t>(incoming.extent(0)), [&](std::int64_t first, int count) {
      const Code* from = incoming.data() + first;
      Code* to = accumulator.data() + first;
      for_lanes(member, count,
                [=](int i) { to[i] = Codec::encode(Codec::decode(from[i]) + Codec::decode(to[i])); });
    });
  }
};

struct ToBfloat16 {
  Vector<const float> x;
  Vector<bfloat16> y;

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    for_flat_tile(member, static_cast<std::int64_t>(x.extent(0)), [&](std::int64_t first, int count) {
      const float* from = x.data() + first;
      bfloat16* to = y.data() + first;
      for_lanes(member, count, [=](int i) { to[i].bits = to_bfloat16(from[i]).bits; });
    });
  }
};

struct ToFloat {
  Vector<const bfloat16> x;
  Vector<float> y;

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    for_flat_tile(member, static_cast<std::int64_t>(x.extent(0)), [&](std::int64_t first, int count) {
      const bfloat16* from = x.data() + first;
      float* to = y.data() + first;
      for_lanes(member, count, [=](int i) { to[i] = to_float(from[i]); });
    });
  }
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
    const NativeAdd<Codec> kernel{as_codes<Code>(incoming), as_codes<Code>(accumulator)};
    Kokkos::parallel_for("minigift::native_add", tile_policy(teams_for(size(kernel.incoming))), kernel);
  });
}

void convert_to_bfloat16(const Vector<const float>& x, const Vector<bfloat16>& y) {
  require(size(x) == size(y), "conversion of {} elements into {}", size(x), size(y));
  Kokkos::parallel_for("minigift::convert_to_bfloat16", tile_policy(teams_for(size(x))), ToBfloat16{x, y});
}

void convert_to_float(const Vector<const bfloat16>& x, const Vector<float>& y) {
  require(size(x) == size(y), "conversion of {} elements into {}", size(x), size(y));
  Kokkos::parallel_for("minigift::convert_to_float", tile_policy(teams_for(size(x))), ToFloat{x, y});
}

}  // namespace minigift
