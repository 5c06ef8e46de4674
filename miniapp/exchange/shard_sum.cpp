#include "miniapp/exchange/shard_sum.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/slice.hpp"
#include "miniapp/report/region_timer.hpp"

namespace minigift {

ShardSum::ShardSum(const Bucket& bucket, const Method& method, std::int64_t first, std::int64_t shards,
                   int peers, bool feedback, DeviceCounters& counters)
    : bucket_(bucket),
      method_(method),
      shards_(shards),
      peers_(peers),
      counters_(counters),
      scales_(bucket, method, first, shards) {
  const std::int64_t stride = bucket.message_bytes / bytes_per_code(method.format);
  std::vector<Tile> gradient;
  for (std::size_t t = 0; t < bucket.tensors.size(); ++t) {
    for (std::int64_t i = bucket.tensor_tiles[t].begin; i < bucket.tensor_tiles[t].end; ++i) {
      Tile tile = bucket.host_tiles[static_cast<std::size_t>(i)];
      const std::int64_t shard = tile.wire / stride - first;
      if (shard < 0 || shard >= shards) continue;
      const std::int64_t within = tile.wire % stride;
      tile.group -= scales_.first_group();
      tile.wire = shard * bucket.shard_elements + within;
      gradient.push_back(tile);
      tile.source = tile.wire;
      tile.wire = shard * stride + within;
      host_tiles_.push_back(tile);
      tile_tensor_.push_back(static_cast<int>(t));
    }
  }
  const std::int64_t elements = shards * bucket.shard_elements;
  tiles_ = make_sum_tiles(host_tiles_);
  plain_tiles_ = tiles_;
  gradient_tiles_ = make_tiles(gradient, bucket.gradient_size, elements, scales_.groups());

  sum_ = Vector<float>("minigift::shard_sum", static_cast<std::size_t>(elements));
  amax_ = Vector<float>("minigift::shard_amax", static_cast<std::size_t>(scales_.groups()));
  peer_scale_ = Vector<float>("minigift::peer_scale", static_cast<std::size_t>(peers * scales_.groups()));
  fill(peer_scale_, 1.0f);
  scale_ = Vector<float>("minigift::shard_scale", static_cast<std::size_t>(scales_.groups()));
  fill(scale_, 1.0f);
  if (feedback) residual_ = ResidualPair(elements);
}

Tiles ShardSum::make_sum_tiles(const std::vector<Tile>& some) const {
  return make_tiles(some, shards_ * bucket_.shard_elements,
                    shards_ * (bucket_.message_bytes / bytes_per_code(method_.format)), scales_.groups());
}

void ShardSum::set_error_feedback(const std::vector<bool>& has_residual) {
  if (residual_.empty()) return;
  std::vector<Tile> plain, residual;
  for (std::size_t i = 0; i < host_tiles_.size(); ++i) {
    const Tile& tile = host_tiles_[i];
    if (has_residual[static_cast<std::size_t>(tile_tensor_[i])]) {
      residual.push_back(tile);
    } else {
      plain.push_back(tile);
      residual_.clear(tile.source, tile.count);
    }
  }
  plain_tiles_ = make_sum_tiles(plain);
  residual_tiles_ = make_sum_tiles(residual);
}

void ShardSum::decode_and_add(const Vector<const std::uint8_t>& received) {
  const ScopedRegion region("decode");
  const std::int64_t run = shards_ * bucket_.message_bytes;
  for (int peer = 0; peer < peers_; ++peer)
    scales_.unpack(slice(received, peer * run, run),
                   slice(peer_scale_, peer * scales_.groups(), scales_.groups()));
  // The maxima of what will be encoded, unless a residual is added first.
  const bool measures = has_scale(method_.format) && residual_.empty();
  dequantize_sum(method_.format, received, peers_, run / bytes_per_code(method_.format), tiles_, peer_scale_,
                 scales_.groups(), sum_, measures ? amax_ : Vector<float>());
}

void ShardSum::encode(const Vector<std::uint8_t>& messages, PhiloxKey key) {
  const ScopedRegion region("encode");
  if (!residual_.empty()) add_residual_group_amax(sum_, residual_.current(), tiles_, amax_);
  if (has_scale(method_.format)) scales_from_amax(method_.format, 1.0f, amax_, scale_);
  if (plain_tiles_.count() > 0) {
    quantize(method_.format, method_.rounding, sum_, plain_tiles_, scale_, messages, Vector<float>(), key,
             &counters_);
  }
  if (residual_tiles_.count() > 0) {
    quantize(method_.format, method_.rounding, sum_, residual_tiles_, scale_, messages, residual_.next(), key,
             &counters_);
  }
  scales_.pack(scale_, messages);
}

void ShardSum::commit() {
  if (!residual_.empty()) residual_.commit();
}

void ShardSum::fold_residual_into(const Vector<float>& residual) {
  if (residual_.empty()) return;
  const Vector<const float> own = residual_.current();
  const Vector<const Tile> tiles = gradient_tiles_.view;
  Kokkos::parallel_for(
      "minigift::fold_residual", range(size(tiles)), KOKKOS_LAMBDA(std::int64_t i) {
        const Tile tile = tiles(i);
        for (std::int64_t e = 0; e < tile.count; ++e)
          residual(tile.source + e) += own(tile.wire + e);
      });
  residual_.clear(0, size(sum_));
}

std::int64_t ShardSum::bytes() const {
  return 4 * (size(sum_) + size(amax_) + size(scale_) + size(peer_scale_)) + scales_.bytes() +
         residual_.bytes();
}

}  // namespace minigift
