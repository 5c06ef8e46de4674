#pragma once
// What is recorded about the elements of an array, in one pass over memory.

#include "kernels/format/host_hash.hpp"

#include <cstdint>

namespace minigift {

class ArraySummary {
 public:
  /// The next elements, in the order of the array. Host memory.
  void add(const float* x, std::int64_t count);

  std::uint64_t content_hash() const { return hash_.value(); }
  /// Largest magnitude; +infinity if an element is infinite or NaN.
  float amax() const;
  std::int64_t non_finite() const { return non_finite_; }

 private:
  HostHash hash_;
  std::uint32_t largest_bits_ = 0;
  std::int64_t non_finite_ = 0;
};

}  // namespace minigift
