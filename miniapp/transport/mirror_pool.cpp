#include "miniapp/transport/mirror_pool.hpp"

#include <algorithm>
#include <utility>

namespace minigift {

Mirror MirrorPool::take(std::int64_t bytes) {
  // The smallest that is large enough.
  Blocks& blocks = *free_;
  auto best = blocks.end();
  for (auto block = blocks.begin(); block != blocks.end(); ++block) {
    if (size(*block) >= bytes && (best == blocks.end() || size(*block) < size(*best))) best = block;
  }
  Block taken;
  if (best != blocks.end()) {
    taken = *best;
    std::swap(*best, blocks.back());
    blocks.pop_back();
  } else {
    taken = Block(Kokkos::view_alloc("minigift::mirror", Kokkos::WithoutInitializing),
                  static_cast<std::size_t>(std::max(bytes, std::int64_t{1})));
  }
  const std::weak_ptr<Blocks> home = free_;
  return Mirror(taken.data(), [taken, home](std::uint8_t*) {
    if (const auto pool = home.lock()) pool->push_back(taken);
  });
}

std::int64_t MirrorPool::free_bytes() const {
  std::int64_t bytes = 0;
  for (const Block& block : *free_)
    bytes += size(block);
  return bytes;
}

}  // namespace minigift
