#pragma once
// The gradient of one row, encoded as the exchange would: one tensor of `count` elements in one bucket.

#include "miniapp/comm/case.hpp"
#include "miniapp/comm/inputs.hpp"
#include "miniapp/comm/sum_bound.hpp"
#include "miniapp/exchange/bucket_plan.hpp"
#include "miniapp/exchange/codec.hpp"
#include "miniapp/exchange/method.hpp"

#include <cstdint>
#include <memory>

namespace minigift {

/// The exchange's method for a collective that adds: its reduction, where that is one of the exchange's, else
/// codes that share a scale, as the native reduction has them.
Method comm_method(const CommCase& wanted, int ranks);

/// Elements [first, first + count) of the gradient.
struct ElementRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class SumEncoding {
 public:
  /// Collective: measures the gradient, and shares its maximum where ranks share scales.
  SumEncoding(const CommCase& wanted, GradientInputs& inputs, Communicator& communicator);
  SumEncoding(const SumEncoding&) = delete;
  SumEncoding& operator=(const SumEncoding&) = delete;

  const Method& method() const { return method_; }
  const Bucket& bucket() const { return plan_.buckets().front(); }
  const BucketPlan& plan() const { return plan_; }
  /// A codec with the scales of the gradient, and room for its codes.
  std::unique_ptr<BucketCodec> make_codec() const;
  /// The largest scale of any rank.
  double largest_scale() const { return largest_scale_; }
  /// The elements of this rank's part; may be none.
  ElementRange own_elements() const;
  /// Place of an element's code, in codes.
  std::int64_t wire_of(std::int64_t element) const;

 private:
  Method method_;
  BucketPlan plan_;
  int rank_;
  std::int64_t count_;
  Vector<float> scale_;
  double largest_scale_ = 1;
};

/// The largest element of a small vector, 1 if there is none.
double largest(const Vector<const float>& values);

}  // namespace minigift
