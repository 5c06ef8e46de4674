#include "kernels/format/tiles.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"

#include <algorithm>

namespace minigift {

void append_tiles(std::vector<Tile>& tiles, std::int64_t source, std::int64_t wire, std::int64_t count,
                  std::int64_t group) {
  for (std::int64_t first = 0; first < count; first += max_tile_elements) {
    const std::int64_t length = std::min(max_tile_elements, count - first);
    tiles.push_back({source + first, wire + first, static_cast<std::int32_t>(length), 0, group});
  }
}

Tiles make_tiles(const std::vector<Tile>& tiles, std::int64_t source_extent, std::int64_t wire_extent,
                 std::int64_t groups) {
  std::int64_t previous_group = 0;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const Tile& tile = tiles[i];
    require(tile.count >= 0 && tile.count <= max_tile_elements,
            "tile {} has {} elements: 0 to {} are possible", i, tile.count, max_tile_elements);
    require(tile.source >= 0 && tile.source + tile.count <= source_extent,
            "tile {} covers elements {} to {} of a buffer of {}", i, tile.source, tile.source + tile.count,
            source_extent);
    require(tile.wire >= 0 && tile.wire + tile.count <= wire_extent,
            "tile {} covers codes {} to {} of a wire of {}", i, tile.wire, tile.wire + tile.count,
            wire_extent);
    require(tile.group >= previous_group && tile.group < groups,
            "tile {} belongs to group {}: groups run from 0 to {} and may not decrease", i, tile.group,
            groups - 1);
    previous_group = tile.group;
  }
  const HostVector<const Tile> host(tiles.data(), tiles.size());
  const Vector<Tile> device(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tiles"), tiles.size());
  copy(device, host);
  return {device, count_elements(tiles)};
}

std::int64_t count_elements(const std::vector<Tile>& tiles) {
  std::int64_t total = 0;
  for (const Tile& tile : tiles) {
    total += tile.count;
  }
  return total;
}

}  // namespace minigift
