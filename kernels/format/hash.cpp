#include "kernels/format/hash.hpp"

#include "kernels/bit_cast.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/format/hash_mix.hpp"
#include "kernels/format/tile_loop.hpp"
#include "kernels/format/tiles.hpp"

namespace minigift {
namespace {

KOKKOS_FORCEINLINE_FUNCTION std::uint32_t load_word(const std::uint8_t* bytes, std::int64_t word) {
  std::uint32_t value;
  memcpy(&value, bytes + 4 * word, 4);
  return value;
}

/// Sums `value(index)` over a flat range, tile `league_rank` of it in each team.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t sum_flat_tile(const TeamMember& member, std::int64_t elements,
                                                        const Value& value) {
  const std::int64_t begin = member.league_rank() * max_tile_elements;
  const std::int64_t left = elements - begin;
  const auto count = static_cast<int>(left < max_tile_elements ? left : max_tile_elements);
  std::uint64_t total = 0;
  if constexpr (scalar_lanes) {
    total = reduce_packs<1, Kokkos::Sum, std::uint64_t>(member, count, true,
                                                        [&](int i, auto) { return value(begin + i); });
  } else {
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, (count + span_elements - 1) / span_elements),
        [&](int span, std::uint64_t& partial) {
          const std::int64_t first = begin + span * span_elements;
          const std::int64_t rest = begin + count - first;
          partial += sum_lanes<std::uint64_t>(static_cast<int>(rest < span_elements ? rest : span_elements),
                                              [=](int i) { return value(first + i); });
        },
        total);
  }
  return total;
}

struct HashWords {
  Vector<const std::uint8_t> bytes;

  KOKKOS_FUNCTION void operator()(const TeamMember& member, std::uint64_t& total) const {
    const std::uint8_t* from = bytes.data();
    const std::int64_t words = static_cast<std::int64_t>(bytes.extent(0)) / 4;
    const std::uint64_t part = sum_flat_tile(member, words, [=](std::int64_t i) {
      return hash_mix(static_cast<std::uint64_t>(i), load_word(from, i));
    });
    Kokkos::single(Kokkos::PerTeam(member), [&]() { total += part; });
  }
};

/// The last, incomplete word and the length.
struct HashTail {
  Vector<const std::uint8_t> bytes;

  KOKKOS_FUNCTION void operator()(std::int64_t, std::uint64_t& total) const {
    const auto length = static_cast<std::int64_t>(bytes.extent(0));
    std::uint64_t word = 0;
    for (std::int64_t i = length / 4 * 4; i < length; ++i) {
      word |= static_cast<std::uint64_t>(bytes(i)) << (8 * (i % 4));
    }
    if (length % 4 != 0) total += hash_mix(static_cast<std::uint64_t>(length / 4), word);
    total += hash_mix(~std::uint64_t{0}, static_cast<std::uint64_t>(length));
  }
};

struct CountNonFinite {
  Vector<const float> x;

  KOKKOS_FUNCTION void operator()(const TeamMember& member, std::uint64_t& total) const {
    const float* from = x.data();
    const std::uint64_t part =
        sum_flat_tile(member, static_cast<std::int64_t>(x.extent(0)), [=](std::int64_t i) -> std::uint64_t {
          return (bit_cast<std::uint32_t>(from[i]) & 0x7FFFFFFFu) >= 0x7F800000u ? 1 : 0;
        });
    Kokkos::single(Kokkos::PerTeam(member), [&]() { total += part; });
  }
};

std::int64_t teams_for(std::int64_t elements) {
  return (elements + max_tile_elements - 1) / max_tile_elements;
}

}  // namespace

std::uint64_t content_hash(const Vector<const std::uint8_t>& x) {
  std::uint64_t words = 0, tail = 0;
  Kokkos::parallel_reduce("minigift::content_hash", tile_policy(teams_for(size(x) / 4)), HashWords{x}, words);
  Kokkos::parallel_reduce("minigift::content_hash_tail", range(1), HashTail{x}, tail);
  return words + tail;
}

std::uint64_t content_hash(const Vector<const float>& x) {
  return content_hash(
      Vector<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(x.data()), x.size() * sizeof(float)));
}

std::int64_t count_non_finite(const Vector<const float>& x) {
  std::uint64_t total = 0;
  Kokkos::parallel_reduce("minigift::count_non_finite", tile_policy(teams_for(size(x))), CountNonFinite{x},
                          total);
  return static_cast<std::int64_t>(total);
}

}  // namespace minigift
