#include "miniapp/exchange/bucket_plan.hpp"

#include "kernels/error.hpp"

#include <algorithm>

namespace minigift {
namespace {

/// Shards are whole cache lines of codes, so that neighbouring shards never share one.
constexpr std::int64_t shard_unit = 64;

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Elements that share a scale before any cut at a shard boundary.
std::int64_t group_elements(const Method& method, const TensorExtent& tensor) {
  switch (method.granularity) {
    case Granularity::tensor:
      return tensor.size();
    case Granularity::row:
      return tensor.columns;
    case Granularity::block:
      return method.scale_block;
  }
  throw RuntimeError("unknown scale granularity");
}

}  // namespace

Tiles Bucket::make_tiles_for(const std::vector<Tile>& some) const {
  return make_tiles(some, gradient_size, code_elements, groups);
}

BucketPlan::BucketPlan(const std::vector<TensorExtent>& tensors, const Method& method, int ranks,
                       std::int64_t bucket_bytes, int ranks_per_node)
    : method_(method),
      ranks_(ranks),
      ranks_per_node_(ranks_per_node > 0 ? ranks_per_node : ranks),
      bucket_of_(tensors.size(), -1) {
  require_usage(ranks >= 1, "bucket plan: {} ranks", ranks);
  require_usage(method.reduction != Reduction::hierarchical || ranks_ % ranks_per_node_ == 0,
                "bucket plan: {} ranks do not make whole nodes of {}", ranks_, ranks_per_node_);
  require_usage(bucket_bytes > 0, "exchange.bucket_megabytes must be positive");
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    require_usage(tensors[i].offset >= tensors[i - 1].offset + tensors[i - 1].size(),
                  "bucket plan: tensor {} starts inside {}", tensors[i].name, tensors[i - 1].name);
  }
  for (auto last = static_cast<int>(tensors.size()) - 1; last >= 0;) {
    Bucket bucket;
    std::int64_t bytes = 0;
    int first = last;
    for (; first >= 0; --first) {
      const std::int64_t more = 4 * tensors[static_cast<std::size_t>(first)].size();
      if (bytes > 0 && bytes + more > bucket_bytes) break;
      bytes += more;
    }
    for (int i = first + 1; i <= last; ++i) {
      bucket.tensors.push_back(i);
      bucket_of_[static_cast<std::size_t>(i)] = static_cast<int>(buckets_.size());
    }
    lay_out(bucket, tensors);
    buckets_.push_back(std::move(bucket));
    last = first;
  }
}

void BucketPlan::lay_out(Bucket& bucket, const std::vector<TensorExtent>& tensors) const {
  const auto extent_of = [&](int i) -> const TensorExtent& { return tensors[static_cast<std::size_t>(i)]; };
  const auto& first = extent_of(bucket.tensors.front());
  const auto& last = extent_of(bucket.tensors.back());
  bucket.gradient_offset = first.offset;
  bucket.gradient_size = last.offset + last.size() - first.offset;

  // Step 1: a slot on the wire for every tensor, then N equal shards.
  const std::int64_t block = method_.granularity == Granularity::block ? method_.scale_block : 1;
  std::vector<std::int64_t> slot;
  std::int64_t end = 0;
  for (const int i : bucket.tensors) {
    slot.push_back(end);
    end += round_up(extent_of(i).size(), block);
    bucket.elements += extent_of(i).size();
  }
  bucket.shard_elements = round_up((end + ranks_ - 1) / ranks_, std::max(block, shard_unit));
  bucket.wire_elements = bucket.shard_elements * ranks_;
  bucket.code_elements = bucket.wire_elements;

  // Step 2: groups in wire order, cut at shard ends where shards have owners, and tiles that cover them.
  const bool cut = method_.reduction != Reduction::native;
  bucket.shard_first_group.assign(static_cast<std::size_t>(ranks_) + 1, 0);
  std::vector<std::int64_t> groups_in_shard(static_cast<std::size_t>(ranks_), 0);
  for (std::size_t t = 0; t < bucket.tensors.size(); ++t) {
    const auto& tensor = extent_of(bucket.tensors[t]);
    const std::int64_t length = std::max<std::int64_t>(group_elements(method_, tensor), 1);
    TileRange range{static_cast<std::int64_t>(bucket.host_tiles.size()), 0};
    for (std::int64_t begin = 0; begin < tensor.size();) {
      std::int64_t stop = std::min((begin / length + 1) * length, tensor.size());
      if (cut) {
        const std::int64_t shard = (slot[t] + begin) / bucket.shard_elements;
        stop = std::min(stop, (shard + 1) * bucket.shard_elements - slot[t]);
        ++groups_in_shard[static_cast<std::size_t>(shard)];
      }
      append_tiles(bucket.host_tiles, tensor.offset - bucket.gradient_offset + begin, slot[t] + begin,
                   stop - begin, bucket.groups);
      bucket.group_tensor.push_back(bucket.tensors[t]);
      ++bucket.groups;
      begin = stop;
    }
    range.end = static_cast<std::int64_t>(bucket.host_tiles.size());
    bucket.tensor_tiles.push_back(range);
  }

  // Step 3: where shards have owners a message is a shard's codes followed by its scales, so wire positions
  // move behind the scales of the shards before.
  if (cut) {
    for (std::size_t s = 0; s < groups_in_shard.size(); ++s) {
      bucket.shard_first_group[s + 1] = bucket.shard_first_group[s] + groups_in_shard[s];
      bucket.groups_per_shard = std::max(bucket.groups_per_shard, groups_in_shard[s]);
    }
    const std::int64_t code_bytes = bytes_per_code(method_.format);
    const std::int64_t scale_bytes = has_scale(method_.format) ? 4 * bucket.groups_per_shard : 0;
    bucket.message_bytes = bucket.shard_elements * code_bytes + scale_bytes;
    const std::int64_t stride = bucket.message_bytes / code_bytes;
    bucket.code_elements = ranks_ * stride;
    for (Tile& tile : bucket.host_tiles) {
      const std::int64_t shard = tile.wire / bucket.shard_elements;
      tile.wire = shard * stride + tile.wire % bucket.shard_elements;
    }
  }
  bucket.tiles = bucket.make_tiles_for(bucket.host_tiles);
}

std::int64_t BucketPlan::payload_wire_bytes() const {
  std::int64_t bytes = 0;
  for (const Bucket& bucket : buckets_) {
    bytes += 2 * (ranks_ - 1) *
             (method_.reduction == Reduction::native ? bucket.shard_elements * bytes_per_code(method_.format)
                                                     : bucket.message_bytes);
  }
  return bytes;
}

std::int64_t BucketPlan::wire_bytes_between_nodes() const {
  if (ranks_per_node_ == ranks_) return 0;
  if (method_.reduction == Reduction::native) return payload_wire_bytes();
  const std::int64_t messages = method_.reduction == Reduction::all_to_all
                                    ? 2 * (ranks_ - ranks_per_node_)
                                    : 2 * (ranks_ / ranks_per_node_ - 1);
  std::int64_t bytes = 0;
  for (const Bucket& bucket : buckets_)
    bytes += messages * bucket.message_bytes;
  return bytes;
}

std::int64_t BucketPlan::payload_bytes() const {
  std::int64_t bytes = 0;
  for (const Bucket& bucket : buckets_) {
    bytes += bucket.elements * bytes_per_code(method_.format);
    if (has_scale(method_.format)) bytes += 4 * bucket.groups;
  }
  return bytes;
}

std::uint64_t BucketPlan::hash() const {
  std::uint64_t state = 0x9E3779B97F4A7C15ull;
  const auto mix = [&state](std::int64_t value) {
    state ^= static_cast<std::uint64_t>(value);
    state *= 0xBF58476D1CE4E5B9ull;
    state ^= state >> 29;
  };
  mix(static_cast<std::int64_t>(method_.format));
  mix(static_cast<std::int64_t>(method_.reduction));
  if (method_.reduction == Reduction::hierarchical) mix(ranks_per_node_);
  for (const Bucket& bucket : buckets_) {
    mix(bucket.gradient_offset);
    mix(bucket.wire_elements);
    mix(bucket.message_bytes);
    mix(bucket.groups);
    for (const int tensor : bucket.tensors)
      mix(tensor);
  }
  return state;
}

}  // namespace minigift
