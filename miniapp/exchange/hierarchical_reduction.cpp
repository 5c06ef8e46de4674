#include "miniapp/exchange/hierarchical_reduction.hpp"

#include "kernels/device/memory.hpp"

#include <string>

namespace minigift {
namespace {

Vector<std::uint8_t> messages(const std::string& label, const Bucket& bucket, std::int64_t count) {
  return Vector<std::uint8_t>(label, static_cast<std::size_t>(count * bucket.message_bytes));
}

/// A stream of its own for each rounding: the sender has used the words of `key` for the same places on the
/// wire.
PhiloxKey with_stream(PhiloxKey key, std::uint32_t bit) {
  key.stream1 ^= bit;
  return key;
}

}  // namespace

HierarchicalReduction::HierarchicalReduction(const Bucket& bucket, const Method& method, BucketCodec& codec,
                                             NodeGroups& groups, bool feedback, DeviceCounters& counters)
    : bucket_(bucket),
      codec_(codec),
      node_(groups.node()),
      across_(groups.across()),
      partial_(bucket, method, node_.rank() * across_.size(), across_.size(), node_.size(), feedback,
               counters),
      owner_(bucket, method, node_.rank() * across_.size() + across_.rank(), 1, across_.size(), feedback,
             counters),
      scales_(bucket, method, 0, node_.size() * across_.size()),
      from_node_(messages("minigift::from_node", bucket, node_.size() * across_.size())),
      partial_messages_(messages("minigift::node_sums", bucket, across_.size())),
      from_nodes_(messages("minigift::from_nodes", bucket, across_.size())),
      message_(messages("minigift::owner_sum", bucket, 1)),
      scale_("minigift::hierarchical_scale", static_cast<std::size_t>(bucket.groups)) {
  fill(scale_, 1.0f);
}

void HierarchicalReduction::start(PhiloxKey key) {
  key_ = key;
  scales_.pack(codec_.scale(), codec_.codes());
  request_ = node_.all_to_all(codec_.codes(), from_node_, across_.size() * bucket_.message_bytes);
  stage_ = Stage::scattering_in_node;
}

bool HierarchicalReduction::proceed() {
  switch (stage_) {
    case Stage::scattering_in_node:
      request_.wait();
      partial_.decode_and_add(from_node_);
      partial_.encode(partial_messages_, with_stream(key_, 0x40000000u));
      request_ = across_.all_to_all(partial_messages_, from_nodes_, bucket_.message_bytes);
      stage_ = Stage::scattering_across;
      return true;
    case Stage::scattering_across:
      request_.wait();
      owner_.decode_and_add(from_nodes_);
      owner_.encode(message_, with_stream(key_, 0x80000000u));
      request_ = across_.all_gather(message_, partial_messages_, bucket_.message_bytes);
      stage_ = Stage::gathering_across;
      return true;
    case Stage::gathering_across:
      request_.wait();
      request_ = node_.all_gather(partial_messages_, codec_.codes(), across_.size() * bucket_.message_bytes);
      stage_ = Stage::gathering_in_node;
      return true;
    case Stage::idle:
    case Stage::gathering_in_node:
    case Stage::done:
      break;
  }
  return false;
}

void HierarchicalReduction::finish() {
  while (proceed()) {
  }
  if (stage_ != Stage::gathering_in_node) return;
  request_.wait();
  scales_.unpack(codec_.codes(), scale_);
  stage_ = Stage::done;
}

void HierarchicalReduction::set_error_feedback(const std::vector<bool>& has_residual) {
  partial_.set_error_feedback(has_residual);
  owner_.set_error_feedback(has_residual);
}

void HierarchicalReduction::commit() {
  partial_.commit();
  owner_.commit();
}

void HierarchicalReduction::fold_residual_into(const Vector<float>& residual) {
  partial_.fold_residual_into(residual);
  owner_.fold_residual_into(residual);
}

std::int64_t HierarchicalReduction::bytes() const {
  return partial_.bytes() + owner_.bytes() + scales_.bytes() + size(from_node_) + size(partial_messages_) +
         size(from_nodes_) + size(message_) + 4 * size(scale_);
}

}  // namespace minigift
