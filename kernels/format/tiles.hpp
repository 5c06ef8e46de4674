#pragma once
// What quantize works on.
//
//   A *wire layout* places tensors one after another in a buffer of codes. A *scale group* is a range of the
//   wire that shares one scale: a whole tensor, a row, a block of b elements, or such a range cut at a shard
//   boundary. A *tile* is a piece of one group, at most max_tile_elements long. Tiles of a group are
//   consecutive; gaps between them on either side (padding) are neither read nor written.

#include "kernels/view.hpp"

#include <cstdint>
#include <vector>

namespace minigift {

inline constexpr std::int64_t max_tile_elements = 4096;

struct Tile {
  std::int64_t source;  // offset of the first element in the FP32 buffer, elements
  std::int64_t wire;  // offset of the first code in the code buffer, elements (bytes = wire * bytes_per_code)
  std::int32_t count;     // elements, 0 ... max_tile_elements
  std::int32_t reserved;  // zero
  std::int64_t group;     // index of the scale
};

/// Tiles in the memory of the kernels, and how many elements they cover together. Copies share the memory.
struct Tiles {
  Vector<const Tile> view;
  std::int64_t elements = 0;

  std::int64_t count() const { return static_cast<std::int64_t>(view.size()); }
};

/// Appends the tiles of one contiguous range of `count` elements of a group.
void append_tiles(std::vector<Tile>& tiles, std::int64_t source, std::int64_t wire, std::int64_t count,
                  std::int64_t group);

/// Copies tiles to the execution space. Checks every tile against the extents of the buffers they will index
/// (elements of the FP32 buffer, elements of the code buffer, groups) and that groups do not decrease; throws
/// RuntimeError naming the first tile that does not fit.
Tiles make_tiles(const std::vector<Tile>& tiles, std::int64_t source_extent, std::int64_t wire_extent,
                 std::int64_t groups);

/// Total number of elements.
std::int64_t count_elements(const std::vector<Tile>& tiles);

}  // namespace minigift
