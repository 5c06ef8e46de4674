#pragma once
// Tokens and targets index tables; an index outside the table is reported, never followed.

#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// Throws RuntimeError with the first row whose index lies outside [0, bound), and the index found there.
/// `what` names the array in the message, for example "target".
void require_indices(const char* what, const Vector<const std::int32_t>& indices, std::int64_t bound);

}  // namespace minigift
