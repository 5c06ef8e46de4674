#include "miniapp/comm/sum_encoding.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"

#include <algorithm>

namespace minigift {
namespace {

Reduction reduction_of(CollectiveChoice collective) {
  if (collective == CollectiveChoice::a2a) return Reduction::all_to_all;
  return collective == CollectiveChoice::hierarchical ? Reduction::hierarchical : Reduction::native;
}

}  // namespace

Method comm_method(const CommCase& wanted, int ranks) {
  Method method;
  method.name = "comm";
  method.format = wanted.format;
  method.reduction = reduction_of(wanted.collective);
  if (!has_scale(wanted.format)) return method;
  if (wanted.scale_block > 0) {
    method.granularity = Granularity::block;
    method.scale_block = wanted.scale_block;
  }
  const bool shared = method.reduction == Reduction::native;
  method.scale = shared ? ScaleRule::synchronised : ScaleRule::carried;
  if (shared) method.headroom = static_cast<float>(shared_headroom(wanted.format, ranks));
  return method;
}

double largest(const Vector<const float>& values) {
  const auto host = on_host(values);
  double result = host.size() == 0 ? 1.0 : 0.0;
  for (std::size_t i = 0; i < host.size(); ++i)
    result = std::max(result, static_cast<double>(host(i)));
  return result;
}

SumEncoding::SumEncoding(const CommCase& wanted, GradientInputs& inputs, Communicator& communicator)
    : method_(comm_method(wanted, communicator.size())),
      plan_({TensorExtent{"gradient", 1, wanted.count, 0}}, method_, communicator.size(), 4 * wanted.count,
            communicator.ranks_on_node()),
      rank_(communicator.rank()),
      count_(wanted.count) {
  BucketCodec codec(bucket(), method_);
  const Vector<std::int64_t> first_infinite("minigift::comm_infinite", 1);
  codec.measure(inputs.gradient(false), Vector<float>(), first_infinite);
  if (method_.scale == ScaleRule::synchronised) communicator.all_reduce_max(codec.amax()).wait();
  codec.compute_scales();
  scale_ = codec.scale();
  communicator.synchronize();
  if (has_scale(method_.format)) largest_scale_ = communicator.max_over_ranks(largest(scale_));
}

std::unique_ptr<BucketCodec> SumEncoding::make_codec() const {
  auto codec = std::make_unique<BucketCodec>(bucket(), method_);
  copy(codec->scale(), scale_);
  return codec;
}

ElementRange SumEncoding::own_elements() const {
  const std::int64_t part = bucket().shard_elements;
  const std::int64_t first = std::min(rank_ * part, count_);
  return {first, std::min(part, count_ - first)};
}

std::int64_t SumEncoding::wire_of(std::int64_t element) const {
  for (const Tile& tile : bucket().host_tiles) {
    if (element >= tile.source && element < tile.source + tile.count)
      return tile.wire + element - tile.source;
  }
  throw RuntimeError(fmt::format("element {} of {} has no place on the wire", element, count_));
}

}  // namespace minigift
