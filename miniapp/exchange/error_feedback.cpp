#include "miniapp/exchange/error_feedback.hpp"

#include "kernels/device/memory.hpp"

#include <utility>

namespace minigift {

ResidualPair::ResidualPair(std::int64_t elements)
    : current_("minigift::residual", static_cast<std::size_t>(elements)),
      next_("minigift::residual_next", static_cast<std::size_t>(elements)) {}

void ResidualPair::commit() {
  std::swap(current_, next_);
}

void ResidualPair::clear(std::int64_t offset, std::int64_t count) {
  for (const auto& buffer : {current_, next_}) {
    fill(Kokkos::subview(buffer, Kokkos::make_pair(offset, offset + count)), 0.0f);
  }
}

}  // namespace minigift
