#pragma once
// Memory that a caller keeps between calls, so that a step allocates nothing once it has run.

#include "kernels/slice.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

namespace minigift {

/// Makes `buffer` hold at least `count` elements. Its content is lost when it grows.
template <class T>
void reserve(Vector<T>& buffer, std::int64_t count) {
  if (size(buffer) >= count) return;
  buffer = Vector<T>();  // free before allocating
  buffer = Vector<T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::workspace"),
                     static_cast<std::size_t>(count));
}

}  // namespace minigift
