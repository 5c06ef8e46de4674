#pragma once
// The scales that travel behind the codes of each message; layout: bucket_plan.hpp.

#include "kernels/view.hpp"
#include "miniapp/exchange/bucket_plan.hpp"
#include "miniapp/exchange/method.hpp"

#include <cstdint>

namespace minigift {

/// The scales of a run of consecutive shards' messages. Formats without scales have none, and nothing is
/// done.
class MessageScales {
 public:
  /// Of shards first ... first + shards - 1.
  MessageScales(const Bucket& bucket, const Method& method, std::int64_t first, std::int64_t shards);

  /// Scale groups of the run; group g of the run is group first_group() + g of the bucket.
  std::int64_t groups() const { return groups_; }
  std::int64_t first_group() const { return first_group_; }

  /// scale (groups) -> its places in messages (shards * message_bytes).
  void pack(const Vector<const float>& scale, const Vector<std::uint8_t>& messages) const;
  /// And back.
  void unpack(const Vector<const std::uint8_t>& messages, const Vector<float>& scale) const;

  std::int64_t bytes() const { return 8 * size(position_); }

 private:
  std::int64_t first_group_;
  std::int64_t groups_;
  Vector<std::int64_t> position_;  // (groups) byte offset of a group's scale; empty: no scales
};

}  // namespace minigift
