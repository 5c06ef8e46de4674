#include "miniapp/exchange/bucket_pipeline.hpp"

#include "kernels/device/memory.hpp"
#include "miniapp/report/region_timer.hpp"

#include <algorithm>

namespace minigift {

BucketPipeline::BucketPipeline(const Bucket& bucket, const Method& method, const Vector<float>& x,
                               const Vector<std::int64_t>& first_infinite, Communicator& communicator,
                               DeviceCounters& counters, NodeGroups* groups)
    : bucket_(bucket),
      method_(method),
      x_(x),
      first_infinite_(first_infinite),
      communicator_(communicator),
      counters_(counters),
      codec_(bucket, method),
      reduction_(make_reduction(bucket, method, codec_, communicator,
                                method.error_feedback != ErrorFeedback::off, counters, groups)),
      has_residual_(bucket.tensors.size(), false) {
  if (method.scale == ScaleRule::local) {
    decode_scale_ = Vector<float>("minigift::decode_scale", static_cast<std::size_t>(bucket.groups));
  }
}

void BucketPipeline::set_error_feedback(const std::vector<bool>& has_residual) {
  if (has_residual == has_residual_) return;
  const bool any = std::find(has_residual.begin(), has_residual.end(), true) != has_residual.end();
  if (any && residual_.empty()) residual_ = ResidualPair(bucket_.gradient_size);
  for (std::size_t t = 0; t < has_residual.size(); ++t) {
    if (!has_residual_[t] || has_residual[t]) continue;
    for (std::int64_t i = bucket_.tensor_tiles[t].begin; i < bucket_.tensor_tiles[t].end; ++i) {
      const Tile& tile = bucket_.host_tiles[static_cast<std::size_t>(i)];
      residual_.clear(tile.source, tile.count);
    }
  }
  has_residual_ = has_residual;
  codec_.set_error_feedback(has_residual);
  reduction_->set_error_feedback(has_residual);
}

Vector<float> BucketPipeline::residual(std::int64_t offset, std::int64_t count) const {
  if (residual_.empty()) return {};
  return Kokkos::subview(residual_.current(), Kokkos::make_pair(offset, offset + count));
}

void BucketPipeline::fold_sum_residuals() {
  if (!residual_.empty()) reduction_->fold_residual_into(residual_.current());
}

void BucketPipeline::start(PhiloxKey key, bool synchronise_local_scale) {
  key_ = key;
  synchronise_local_scale_ = synchronise_local_scale;
  {
    const ScopedRegion region("encode");
    codec_.measure(x_, residual_.current(), first_infinite_);
  }
  if (method_.scale == ScaleRule::synchronised) {
    const ScopedRegion region("wire");
    scale_request_ = communicator_.all_reduce_max(codec_.amax());
    stage_ = Stage::scaling;
    return;
  }
  encode_and_send();
}

void BucketPipeline::encode_and_send() {
  {
    const ScopedRegion region("encode");
    codec_.compute_scales();
    codec_.encode(x_, residual_.next(), key_, counters_);
  }
  const ScopedRegion region("wire");
  if (method_.scale == ScaleRule::local) {
    // Algorithm 1, lines 21 to 24: the scale that decodes is this rank's own, or, on a synchronisation step,
    // the largest one, taken after the cast.
    copy(decode_scale_, codec_.scale());
    if (synchronise_local_scale_) scale_request_ = communicator_.all_reduce_max(decode_scale_);
  }
  reduction_->start(key_);
  stage_ = Stage::reducing;
}

bool BucketPipeline::proceed() {
  if (stage_ == Stage::scaling) {
    {
      const ScopedRegion region("wire");
      scale_request_.wait();
    }
    encode_and_send();
    return true;
  }
  if (stage_ != Stage::reducing) return false;
  const ScopedRegion region("wire");
  return reduction_->proceed();
}

void BucketPipeline::complete() {
  if (stage_ == Stage::scaling) proceed();
  if (stage_ != Stage::reducing) return;
  const ScopedRegion region("wire");
  reduction_->finish();
  scale_request_.wait();
  stage_ = Stage::reduced;
}

void BucketPipeline::decode() {
  const ScopedRegion region("decode");
  const float mean = 1.0f / static_cast<float>(communicator_.size());
  codec_.decode(method_.scale == ScaleRule::local ? Vector<const float>(decode_scale_) : reduction_->scale(),
                mean, x_);
  stage_ = Stage::idle;
}

void BucketPipeline::commit() {
  if (!residual_.empty()) residual_.commit();
  reduction_->commit();
}

int BucketPipeline::tensor_of(std::int64_t group) const {
  return group == BucketCodec::no_group ? -1 : bucket_.group_tensor[static_cast<std::size_t>(group)];
}

std::int64_t BucketPipeline::bytes() const {
  return codec_.bytes() + reduction_->bytes() + residual_.bytes() +
         4 * static_cast<std::int64_t>(decode_scale_.size());
}

}  // namespace minigift
