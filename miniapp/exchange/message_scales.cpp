#include "miniapp/exchange/message_scales.hpp"

#include "kernels/device/memory.hpp"

namespace minigift {

MessageScales::MessageScales(const Bucket& bucket, const Method& method, std::int64_t first,
                             std::int64_t shards)
    : first_group_(bucket.shard_first_group[static_cast<std::size_t>(first)]),
      groups_(bucket.shard_first_group[static_cast<std::size_t>(first + shards)] - first_group_) {
  if (!has_scale(method.format)) return;
  position_ = Vector<std::int64_t>("minigift::scale_position", static_cast<std::size_t>(groups_));
  const auto position = host_like(position_);
  const std::int64_t behind_codes = bucket.shard_elements * bytes_per_code(method.format);
  for (std::int64_t s = 0; s < shards; ++s) {
    const auto shard = static_cast<std::size_t>(first + s);
    const std::int64_t begin = bucket.shard_first_group[shard];
    for (std::int64_t g = begin; g < bucket.shard_first_group[shard + 1]; ++g)
      position(g - first_group_) = s * bucket.message_bytes + behind_codes + 4 * (g - begin);
  }
  copy(position_, position);
}

void MessageScales::pack(const Vector<const float>& scale, const Vector<std::uint8_t>& messages) const {
  const Vector<const std::int64_t> position = position_;
  Kokkos::parallel_for(
      "minigift::pack_scales", range(size(position)), KOKKOS_LAMBDA(std::int64_t g) {
        const float value = scale(g);
        memcpy(&messages(position(g)), &value, sizeof(float));
      });
}

void MessageScales::unpack(const Vector<const std::uint8_t>& messages, const Vector<float>& scale) const {
  const Vector<const std::int64_t> position = position_;
  Kokkos::parallel_for(
      "minigift::unpack_scales", range(size(position)), KOKKOS_LAMBDA(std::int64_t g) {
        float value;
        memcpy(&value, &messages(position(g)), sizeof(float));
        scale(g) = value;
      });
}

}  // namespace minigift
