#pragma once
// Loops over the entries of a matrix. On a host an iteration is a row, whose inner loop vectorises; on a GPU
// a team has a row and neighbouring threads neighbouring entries.

#include "kernels/device/stream.hpp"
#include "kernels/linalg/pieces.hpp"
#include "kernels/scalar_lanes.hpp"
#include "kernels/view.hpp"

#include <cstdint>

namespace minigift::geometry {

template <class Body>
struct Entries {
  std::int64_t columns;
  Body body;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    for (std::int64_t j = 0; j < columns; ++j)
      body(i, j);
  }
  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t i = team.league_rank();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, columns), [&](const std::int64_t j) { body(i, j); });
  }
};

/// body(i, j) for every entry of a (rows, columns) matrix. `body` is a KOKKOS_LAMBDA that treats entries
/// independently.
template <class Body>
void for_each_entry(const char* label, std::int64_t rows, std::int64_t columns, const Body& body) {
  const Entries<Body> entries{columns, body};
  if constexpr (scalar_lanes) {
    Kokkos::parallel_for(label, linalg::row_teams(rows, columns), entries);
  } else {
    Kokkos::parallel_for(label, range(rows), entries);
  }
}

}  // namespace minigift::geometry
