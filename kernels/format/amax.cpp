#include "kernels/bit_cast.hpp"
#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/format/scale.hpp"
#include "kernels/format/tile_loop.hpp"
#include "kernels/math.hpp"

#include <cmath>

namespace minigift {
namespace {

/// Magnitudes are compared as integers: the bit patterns of non-negative floats are ordered as their values,
/// and NaN lies above infinity. A maximum does not depend on the order of evaluation.
struct GroupAmax {
  Vector<const float> x;
  Vector<const Tile> tiles;
  Vector<float> amax;

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    const Tile tile = tiles(member.league_rank());
    const float* in = x.data() + tile.source;
    std::uint32_t largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, (tile.count + span_elements - 1) / span_elements),
        [&](int span, std::uint32_t& partial) {
          const int first = span * span_elements;
          const int left = tile.count - first;
          const float* part = in + first;
          const std::uint32_t value =
              max_lanes(member, left < span_elements ? left : span_elements,
                        [=](int i) { return bit_cast<std::uint32_t>(part[i]) & 0x7FFFFFFFu; });
          partial = value > partial ? value : partial;
        },
        Kokkos::Max<std::uint32_t>(largest));
    Kokkos::single(Kokkos::PerTeam(member), [&]() {
      const std::uint32_t infinity = 0x7F800000u;
      const std::uint32_t bits = largest > infinity ? infinity : largest;
      if (bits != 0) Kokkos::atomic_fetch_max(&amax(tile.group), bit_cast<float>(bits));
    });
  }
};

}  // namespace

void group_amax(const Vector<const float>& x, const Tiles& tiles, const Vector<float>& amax) {
  fill(amax, 0.0f);
  Kokkos::parallel_for("minigift::group_amax", tile_policy(tiles.count()), GroupAmax{x, tiles.view, amax});
}

void scales_from_amax(Format format, float headroom, const Vector<const float>& amax,
                      const Vector<float>& scale) {
  require(std::isfinite(headroom) && headroom > 0, "headroom {} is not a positive finite number", headroom);
  require(size(amax) == size(scale), "{} maxima for {} scales", size(amax), size(scale));
  const auto limit = static_cast<float>(max_finite(format));
  const bool scaled = has_scale(format);
  const bool power_of_two = is_fp8(format);
  Kokkos::parallel_for(
      "minigift::scales_from_amax", range(size(amax)), KOKKOS_LAMBDA(std::int64_t g) {
        const float bound = scaled || !math::isfinite(amax(g)) ? amax(g) : 0.0f;
        scale(g) = power_of_two ? power_of_two_scale(bound, headroom, limit)
                                : smallest_scale(bound, headroom, limit);
      });
}

}  // namespace minigift
