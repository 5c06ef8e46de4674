#pragma once
// Serial oracle of the Hadamard rotation: its matrix, entry by entry from the definition, in double.

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace minigift::reference {

/// One pass as a matrix (d, d), row-major: D B, or D P^T B P for the second pass. `signs` (d) of either size.
inline std::vector<double> hadamard_pass(const std::vector<double>& signs, std::int64_t width, bool second) {
  const auto d = static_cast<std::int64_t>(signs.size()), blocks = d / width;
  std::vector<double> matrix(static_cast<std::size_t>(d * d), 0.0);
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < d; ++j) {
      const auto place = [&](std::int64_t column) {
        return second ? column % width * blocks + column / width : column;
      };
      const std::int64_t from = place(i), to = place(j);
      if (from / width != to / width) continue;
      const int ones = std::popcount(static_cast<std::uint64_t>((from % width) & (to % width)));
      const double entry = (ones % 2 == 0 ? 1.0 : -1.0) / std::sqrt(static_cast<double>(width));
      matrix[static_cast<std::size_t>(i * d + j)] =
          std::copysign(entry, entry * signs[static_cast<std::size_t>(i)]);
    }
  return matrix;
}

}  // namespace minigift::reference
