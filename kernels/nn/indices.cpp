#include "kernels/nn/indices.hpp"

#include "kernels/error.hpp"

namespace minigift {

void require_indices(const char* what, const Vector<const std::int32_t>& indices, std::int64_t bound) {
  const std::int64_t count = size(indices);
  if (count == 0) return;
  std::int64_t first_bad = count;
  Kokkos::parallel_reduce(
      "minigift::require_indices", Range(0, count),
      KOKKOS_LAMBDA(const std::int64_t row, std::int64_t& first) {
        const std::int64_t index = indices(row);
        if ((index < 0 || index >= bound) && row < first) first = row;
      },
      Kokkos::Min<std::int64_t>(first_bad));
  if (first_bad >= count) return;
  std::int32_t found = 0;
  Kokkos::deep_copy(found, Kokkos::subview(indices, first_bad));
  throw RuntimeError(fmt::format("{} {} in row {} lies outside [0, {})", what, found, first_bad, bound));
}

}  // namespace minigift
