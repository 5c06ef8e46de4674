#pragma once
// What the codec dropped in one step is added back in the next, in communication coordinates.
//
//   X_t = W_t T + R_t,   q = cast(X_t / s),   R_{t+1} = X_t - s q
//
// so that what was applied plus what is left equals what came in: sum_t s q_t + R = sum_t W_t T. The new
// residual is written beside the old one and taken over by commit(), because a step that all ranks skip must
// leave R as it was. Source: GIFT, arXiv:2607.07494, Algorithm 1, lines 16 and 20.

#include "kernels/geometry/whitening.hpp"
#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// The residual of a contiguous range of elements, zero at first.
class ResidualPair {
 public:
  ResidualPair() = default;
  /// `elements` FP32 values, twice.
  explicit ResidualPair(std::int64_t elements);

  bool empty() const { return current_.size() == 0; }
  const Vector<float>& current() const { return current_; }
  const Vector<float>& next() const { return next_; }
  /// Takes the residual written by this step.
  void commit();
  /// Drops the residual of a range, e.g. of a tensor that is no longer selected.
  void clear(std::int64_t offset, std::int64_t count);
  std::int64_t bytes() const { return 2 * 4 * static_cast<std::int64_t>(current_.size()); }

 private:
  Vector<float> current_;
  Vector<float> next_;
};

}  // namespace minigift
