#pragma once
// What factorizations have in common on every device: how a failure is named and what is accepted. Only
// kernels/linalg includes this.

#include "kernels/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace minigift::linalg {

/// Names the operation and the size at the head of every message.
struct Operation {
  const char* name;
  std::int64_t rows, columns;

  [[noreturn]] void fail(const std::string& what) const {
    throw RuntimeError(fmt::format("{} of a {} x {} matrix: {}", name, rows, columns, what));
  }
  /// The message is only put together when it is needed.
  template <class... Args>
  void check(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (!condition) fail(fmt::format(format, std::forward<Args>(args)...));
  }
};

template <class S>
S unit_roundoff() {
  return std::numeric_limits<S>::epsilon() / 2;
}

/// What the rounding of an orthogonal factorization leaves, relative to the norm of the input: a modest
/// multiple of u times the root of the length of its inner products.
template <class S>
S tolerance(std::int64_t length) {
  return S(100) * std::sqrt(static_cast<S>(std::max<std::int64_t>(length, 1))) * unit_roundoff<S>();
}

/// `difference` must be at most `bound`; not-a-number fails.
template <class S>
void check_small(const Operation& operation, const char* what, S difference, S bound) {
  operation.check(difference <= bound, "{} is {:.3g}, more than {:.3g}", what, difference, bound);
}

}  // namespace minigift::linalg
