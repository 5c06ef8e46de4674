#include "miniapp/exchange/all_to_all_reduction.hpp"

#include "kernels/device/memory.hpp"
#include "miniapp/report/region_timer.hpp"

namespace minigift {
namespace {

/// bytes[position[g] ...] <- scale[g], four bytes each.
void pack_scales(const Vector<const float>& scale, const Vector<const std::int64_t>& position,
                 const Vector<std::uint8_t>& bytes) {
  Kokkos::parallel_for(
      "minigift::pack_scales", range(size(scale)), KOKKOS_LAMBDA(std::int64_t g) {
        const float value = scale(g);
        memcpy(&bytes(position(g)), &value, sizeof(float));
      });
}

/// scale[g] <- bytes[position[first + g] + shift ...].
void unpack_scales(const Vector<const std::uint8_t>& bytes, const Vector<const std::int64_t>& position,
                   std::int64_t first, std::int64_t shift, const Vector<float>& scale) {
  Kokkos::parallel_for(
      "minigift::unpack_scales", range(size(scale)), KOKKOS_LAMBDA(std::int64_t g) {
        float value;
        memcpy(&value, &bytes(position(first + g) + shift), sizeof(float));
        scale(g) = value;
      });
}

Vector<const std::uint8_t> message_of(const Vector<const std::uint8_t>& messages, std::int64_t index,
                                      std::int64_t bytes) {
  return Kokkos::subview(messages, Kokkos::make_pair(index * bytes, (index + 1) * bytes));
}

}  // namespace

AllToAllReduction::AllToAllReduction(const Bucket& bucket, const Method& method, BucketCodec& codec,
                                     Communicator& communicator, bool owner_feedback,
                                     DeviceCounters& counters)
    : bucket_(bucket), method_(method), codec_(codec), communicator_(communicator), counters_(counters) {
  const auto rank = static_cast<std::size_t>(communicator.rank());
  const std::int64_t first_group = bucket.shard_first_group[rank];
  shard_groups_ = bucket.shard_first_group[rank + 1] - first_group;

  const std::int64_t code_bytes = bytes_per_code(method.format);
  const std::int64_t stride = bucket.message_bytes / code_bytes;
  std::vector<Tile> gradient;
  for (std::size_t t = 0; t < bucket.tensors.size(); ++t) {
    for (std::int64_t i = bucket.tensor_tiles[t].begin; i < bucket.tensor_tiles[t].end; ++i) {
      Tile tile = bucket.host_tiles[static_cast<std::size_t>(i)];
      if (tile.wire / stride != communicator.rank()) continue;
      tile.wire %= stride;
      tile.group -= first_group;
      gradient.push_back(tile);
      tile.source = tile.wire;
      host_tiles_.push_back(tile);
      tile_tensor_.push_back(static_cast<int>(t));
    }
  }
  shard_tiles_ = make_shard_tiles(host_tiles_);
  plain_tiles_ = shard_tiles_;
  gradient_tiles_ = make_tiles(gradient, bucket.gradient_size, bucket.shard_elements, shard_groups_);

  const auto messages = static_cast<std::size_t>(communicator.size() * bucket.message_bytes);
  received_ = Vector<std::uint8_t>("minigift::a2a_received", messages);
  message_ = Vector<std::uint8_t>("minigift::a2a_message", static_cast<std::size_t>(bucket.message_bytes));
  sum_ = Vector<float>("minigift::a2a_sum", static_cast<std::size_t>(bucket.shard_elements));
  shard_amax_ = Vector<float>("minigift::a2a_amax", static_cast<std::size_t>(shard_groups_));
  shard_scale_ = Vector<float>("minigift::a2a_scale", static_cast<std::size_t>(shard_groups_));
  fill(shard_scale_, 1.0f);
  scale_ = Vector<float>("minigift::a2a_sum_scale", static_cast<std::size_t>(bucket.groups));
  fill(scale_, 1.0f);

  scale_position_ = Vector<std::int64_t>("minigift::scale_position", static_cast<std::size_t>(bucket.groups));
  const auto position = host_like(scale_position_);
  for (std::size_t s = 0; s + 1 < bucket.shard_first_group.size(); ++s) {
    for (std::int64_t g = bucket.shard_first_group[s]; g < bucket.shard_first_group[s + 1]; ++g) {
      position(g) = static_cast<std::int64_t>(s) * bucket.message_bytes + bucket.shard_elements * code_bytes +
                    4 * (g - bucket.shard_first_group[s]);
    }
  }
  copy(scale_position_, position);
  local_position_ = Vector<std::int64_t>("minigift::local_position", static_cast<std::size_t>(shard_groups_));
  const auto local = host_like(local_position_);
  for (std::int64_t g = 0; g < shard_groups_; ++g)
    local(g) = bucket.shard_elements * code_bytes + 4 * g;
  copy(local_position_, local);
  if (owner_feedback) residual_ = ResidualPair(bucket.shard_elements);
}

Tiles AllToAllReduction::make_shard_tiles(const std::vector<Tile>& some) const {
  return make_tiles(some, bucket_.shard_elements, bucket_.shard_elements, shard_groups_);
}

void AllToAllReduction::set_error_feedback(const std::vector<bool>& has_residual) {
  if (residual_.empty()) return;
  std::vector<Tile> plain, residual;
  for (std::size_t i = 0; i < host_tiles_.size(); ++i) {
    const Tile& tile = host_tiles_[i];
    if (has_residual[static_cast<std::size_t>(tile_tensor_[i])]) {
      residual.push_back(tile);
    } else {
      plain.push_back(tile);
      residual_.clear(tile.wire, tile.count);
    }
  }
  plain_tiles_ = make_shard_tiles(plain);
  residual_tiles_ = make_shard_tiles(residual);
}

void AllToAllReduction::start(PhiloxKey key) {
  // A stream of the owner's own: the sender has used the words of `key` for the same places on the wire.
  key_ = key;
  key_.stream1 ^= 0x80000000u;
  if (has_scale(method_.format)) pack_scales(codec_.scale(), scale_position_, codec_.codes());
  request_ = communicator_.all_to_all(codec_.codes(), received_, bucket_.message_bytes);
  stage_ = Stage::scattering;
}

void AllToAllReduction::own_shard() {
  decode_and_add();
  encode_sum();
  request_ = communicator_.all_gather(message_, codec_.codes(), bucket_.message_bytes);
  stage_ = Stage::gathering;
}

void AllToAllReduction::decode_and_add() {
  const ScopedRegion region("decode");
  fill(sum_, 0.0f);
  const std::int64_t first = bucket_.shard_first_group[static_cast<std::size_t>(communicator_.rank())];
  // Positions of the shard's scales are those in message `rank`; in the message received from rank r they lie
  // as far behind that message's start.
  for (int r = 0; r < communicator_.size(); ++r) {
    if (has_scale(method_.format)) {
      unpack_scales(received_, scale_position_, first, (r - communicator_.rank()) * bucket_.message_bytes,
                    shard_scale_);
    }
    dequantize_add(method_.format, message_of(received_, r, bucket_.message_bytes), shard_tiles_,
                   shard_scale_, sum_);
  }
}

void AllToAllReduction::encode_sum() {
  const ScopedRegion region("encode");
  if (!residual_.empty()) {
    add_residual_group_amax(sum_, residual_.current(), shard_tiles_, shard_amax_);
  } else if (has_scale(method_.format)) {
    group_amax(sum_, shard_tiles_, shard_amax_);
  }
  if (has_scale(method_.format)) {
    scales_from_amax(method_.format, 1.0f, shard_amax_, shard_scale_);
  }
  if (plain_tiles_.count() > 0) {
    quantize(method_.format, method_.rounding, sum_, plain_tiles_, shard_scale_, message_, Vector<float>(),
             key_, &counters_);
  }
  if (residual_tiles_.count() > 0) {
    quantize(method_.format, method_.rounding, sum_, residual_tiles_, shard_scale_, message_,
             residual_.next(), key_, &counters_);
  }
  if (has_scale(method_.format)) pack_scales(shard_scale_, local_position_, message_);
}

void AllToAllReduction::unpack_gathered() {
  if (has_scale(method_.format)) unpack_scales(codec_.codes(), scale_position_, 0, 0, scale_);
  stage_ = Stage::done;
}

void AllToAllReduction::proceed() {
  if (stage_ != Stage::scattering) return;
  request_.wait();
  own_shard();
}

void AllToAllReduction::finish() {
  proceed();
  if (stage_ != Stage::gathering) return;
  request_.wait();
  unpack_gathered();
}

void AllToAllReduction::commit() {
  if (!residual_.empty()) residual_.commit();
}

void AllToAllReduction::fold_residual_into(const Vector<float>& residual) {
  if (residual_.empty()) return;
  const Vector<const float> own = residual_.current();
  const Vector<const Tile> tiles = gradient_tiles_.view;
  Kokkos::parallel_for(
      "minigift::fold_residual", range(size(tiles)), KOKKOS_LAMBDA(std::int64_t i) {
        const Tile tile = tiles(i);
        for (std::int64_t e = 0; e < tile.count; ++e)
          residual(tile.source + e) += own(tile.wire + e);
      });
  residual_.clear(0, bucket_.shard_elements);
}

std::int64_t AllToAllReduction::bytes() const {
  return static_cast<std::int64_t>(received_.size() + message_.size()) +
         4 * static_cast<std::int64_t>(sum_.size() + shard_amax_.size() + shard_scale_.size() +
                                       scale_.size()) +
         8 * static_cast<std::int64_t>(scale_position_.size()) + residual_.bytes();
}

}  // namespace minigift
