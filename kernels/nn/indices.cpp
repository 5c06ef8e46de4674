#include "kernels/nn/indices.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/slice.hpp"

namespace minigift {

void require_indices(const char* what, const Vector<const std::int32_t>& indices, std::int64_t bound) {
  const std::int64_t count = size(indices);
  if (count == 0) return;
  std::int64_t first_bad = count;
  Kokkos::parallel_reduce(
      "minigift::require_indices", range(count),
      KOKKOS_LAMBDA(const std::int64_t row, std::int64_t& first) {
        const std::int64_t index = indices(row);
        if ((index < 0 || index >= bound) && row < first) first = row;
      },
      Kokkos::Min<std::int64_t>(first_bad));
  if (first_bad >= count) return;
  const std::int32_t found = on_host(slice(indices, first_bad, 1))(0);
  throw RuntimeError(fmt::format("{} {} in row {} lies outside [0, {})", what, found, first_bad, bound));
}

}  // namespace minigift
