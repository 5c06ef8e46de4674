#include "miniapp/exchange/reduction.hpp"

#include "kernels/error.hpp"
#include "miniapp/exchange/all_to_all_reduction.hpp"
#include "miniapp/exchange/hierarchical_reduction.hpp"

#include <utility>

namespace minigift {
namespace {

class NativeReduction final : public BucketReduction {
 public:
  NativeReduction(const Method& method, BucketCodec& codec, Communicator& communicator)
      : method_(method), codec_(codec), communicator_(communicator) {}

  void start(PhiloxKey) override {
    request_ = communicator_.native_all_reduce(method_.format, codec_.codes());
  }
  void finish() override { request_.wait(); }
  Vector<const float> scale() const override { return codec_.scale(); }

 private:
  const Method& method_;
  BucketCodec& codec_;
  Communicator& communicator_;
  Request request_;
};

}  // namespace

std::unique_ptr<BucketReduction> make_reduction(const Bucket& bucket, const Method& method,
                                                BucketCodec& codec, Communicator& communicator, bool feedback,
                                                DeviceCounters& counters, NodeGroups* groups) {
  if (method.reduction == Reduction::native) {
    return std::make_unique<NativeReduction>(method, codec, communicator);
  }
  if (method.reduction == Reduction::hierarchical) {
    require(groups != nullptr, "method {}: a hierarchical reduction without its groups", method.name);
    // A level of one rank has nothing to add, and would only round once more.
    if (groups->node().size() > 1 && groups->across().size() > 1)
      return std::make_unique<HierarchicalReduction>(bucket, method, codec, *groups, feedback, counters);
  }
  return std::make_unique<AllToAllReduction>(bucket, method, codec, communicator, feedback, counters);
}

}  // namespace minigift
