#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/magnitude.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/format/scale.hpp"
#include "kernels/format/tile_loop.hpp"
#include "kernels/math.hpp"

#include <cmath>

namespace minigift {
namespace {

/// With `adding` the sum of x and the residual takes the place of x first.
template <bool adding>
struct GroupAmax {
  const float* x;
  const float* residual;
  float* sum;  // x, where it may be written
  Vector<const Tile> tiles;
  Vector<float> amax;

  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    const Tile tile = tiles(member.league_rank());
    std::uint32_t largest = 0;
    if constexpr (scalar_lanes) {
      largest = by_packs(member, tile);
    } else {
      largest = by_spans(member, tile);
    }
    Kokkos::single(Kokkos::PerTeam(member), [&]() { raise_amax(amax(tile.group), largest); });
  }

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t by_spans(const TeamMember& member, const Tile& tile) const {
    std::uint32_t largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, (tile.count + span_elements - 1) / span_elements),
        [&](int span, std::uint32_t& partial) {
          const int first = span * span_elements;
          const int left = tile.count - first;
          const int count = left < span_elements ? left : span_elements;
          const float* part = x + tile.source + first;
          if constexpr (adding) {
            const float* more = residual + tile.source + first;
            float* to = sum + tile.source + first;
            for_lanes(count, [=](int i) { to[i] += more[i]; });
          }
          const std::uint32_t value = max_lanes(count, [=](int i) { return magnitude(part[i]); });
          partial = value > partial ? value : partial;
        },
        Kokkos::Max<std::uint32_t>(largest));
    return largest;
  }

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t by_packs(const TeamMember& member, const Tile& tile) const {
    const std::int64_t source = tile.source;
    bool aligned = is_aligned<4>(x + source);
    if constexpr (adding) aligned = aligned && is_aligned<4>(residual + source);
    return reduce_packs<4, Kokkos::Max, std::uint32_t>(
        member, tile.count, aligned, [&](int first, auto width) {
          constexpr int n = decltype(width)::value;
          Pack<float, n> values = load_pack<n>(x + source + first);
          if constexpr (adding) {
            const Pack<float, n> more = load_pack<n>(residual + source + first);
            for (int i = 0; i < n; ++i)
              values.value[i] += more.value[i];
            store_pack(values, sum + source + first);
          }
          std::uint32_t largest = 0;
          for (int i = 0; i < n; ++i)
            largest = math::max(magnitude(values.value[i]), largest);
          return largest;
        });
  }
};

}  // namespace

void group_amax(const Vector<const float>& x, const Tiles& tiles, const Vector<float>& amax) {
  fill(amax, 0.0f);
  Kokkos::parallel_for("minigift::group_amax", tile_policy(tiles.count()),
                       GroupAmax<false>{x.data(), nullptr, nullptr, tiles.view, amax});
}

void add_residual_group_amax(const Vector<float>& x, const Vector<const float>& residual, const Tiles& tiles,
                             const Vector<float>& amax) {
  require(size(residual) == size(x), "a residual of {} elements for a buffer of {}", size(residual), size(x));
  fill(amax, 0.0f);
  Kokkos::parallel_for("minigift::add_residual_group_amax", tile_policy(tiles.count()),
                       GroupAmax<true>{x.data(), residual.data(), x.data(), tiles.view, amax});
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
