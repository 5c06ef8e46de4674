#include "miniapp/exchange/all_to_all_reduction.hpp"

#include "kernels/device/memory.hpp"

namespace minigift {

AllToAllReduction::AllToAllReduction(const Bucket& bucket, const Method& method, BucketCodec& codec,
                                     Communicator& communicator, bool owner_feedback,
                                     DeviceCounters& counters)
    : bucket_(bucket),
      codec_(codec),
      communicator_(communicator),
      owner_(bucket, method, communicator.rank(), 1, communicator.size(), owner_feedback, counters),
      scales_(bucket, method, 0, communicator.size()),
      received_("minigift::a2a_received",
                static_cast<std::size_t>(communicator.size() * bucket.message_bytes)),
      message_("minigift::a2a_message", static_cast<std::size_t>(bucket.message_bytes)),
      scale_("minigift::a2a_sum_scale", static_cast<std::size_t>(bucket.groups)) {
  fill(scale_, 1.0f);
}

void AllToAllReduction::start(PhiloxKey key) {
  // A stream of the owner's own: the sender has used the words of `key` for the same places on the wire.
  key_ = key;
  key_.stream1 ^= 0x80000000u;
  scales_.pack(codec_.scale(), codec_.codes());
  request_ = communicator_.all_to_all(codec_.codes(), received_, bucket_.message_bytes);
  stage_ = Stage::scattering;
}

bool AllToAllReduction::proceed() {
  if (stage_ != Stage::scattering) return false;
  request_.wait();
  owner_.decode_and_add(received_);
  owner_.encode(message_, key_);
  request_ = communicator_.all_gather(message_, codec_.codes(), bucket_.message_bytes);
  stage_ = Stage::gathering;
  return true;
}

void AllToAllReduction::finish() {
  proceed();
  if (stage_ != Stage::gathering) return;
  request_.wait();
  scales_.unpack(codec_.codes(), scale_);
  stage_ = Stage::done;
}

std::int64_t AllToAllReduction::bytes() const {
  return owner_.bytes() + scales_.bytes() + size(received_) + size(message_) + 4 * size(scale_);
}

}  // namespace minigift
