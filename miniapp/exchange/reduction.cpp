#include "miniapp/exchange/reduction.hpp"

#include "miniapp/exchange/all_to_all_reduction.hpp"

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
                                                BucketCodec& codec, Communicator& communicator,
                                                bool owner_feedback, DeviceCounters& counters) {
  if (method.reduction == Reduction::native) {
    return std::make_unique<NativeReduction>(method, codec, communicator);
  }
  return std::make_unique<AllToAllReduction>(bucket, method, codec, communicator, owner_feedback, counters);
}

}  // namespace minigift
