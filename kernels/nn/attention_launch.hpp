#pragma once
// Host side of both passes of attention: checks, and where a team's scratch memory lies.

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/nn/attention.hpp"
#include "kernels/scalar_lanes.hpp"

#include <limits>

namespace minigift::attention {

inline void require_attention_shape(const AttentionShape& shape) {
  require(shape.B >= 0 && shape.T >= 0 && shape.H > 0 && shape.H_kv > 0 && shape.D > 0,
          "attention: impossible shape B={} T={} H={} H_kv={} D={}", shape.B, shape.T, shape.H, shape.H_kv,
          shape.D);
  require(shape.H % shape.H_kv == 0, "attention: {} query heads cannot share {} key/value heads evenly",
          shape.H, shape.H_kv);
}

template <class View>
void require_extents(const char* name, const View& view, std::int64_t rows, std::int64_t columns) {
  require(extent(view, 0) == rows && extent(view, 1) == columns,
          "attention: {} is ({}, {}), expected ({}, {})", name, extent(view, 0), extent(view, 1), rows,
          columns);
}

struct Launch {
  Team policy;
  int level;
};

/// A policy of `teams` teams with `scratch_bytes` each: in the fast memory of a GPU (level 0) where that much
/// fits, else in level 1. On a host both levels are ordinary memory, and one thread makes a team, since its
/// registers are the lanes.
inline Launch make_launch(std::int64_t teams, std::int64_t scratch_bytes) {
  require(teams <= std::numeric_limits<int>::max(), "attention: {} tiles exceed what one launch can hold",
          teams);
  const std::int64_t needed = scratch_bytes + 64;  // room for alignment
  const int level = needed <= Team::scratch_size_max(0) ? 0 : 1;
  require(needed <= Team::scratch_size_max(level),
          "attention: {} bytes of scratch per team exceed the limit of {}; the heads are too wide", needed,
          Team::scratch_size_max(level));
  const int bytes = static_cast<int>(needed);
  // On a GPU one thread per block of scores: attention_device.hpp.
  Team policy(current_space(), static_cast<int>(teams), threads_on_host ? 1 : 64);
  policy.set_scratch_size(level, Kokkos::PerTeam(bytes));
  return {policy, level};
}

/// A policy of one team of a few threads for each of `rows` rows, on a GPU with a warp of lanes to each
/// thread.
inline Team make_row_launch(std::int64_t rows) {
  require(rows <= std::numeric_limits<int>::max(), "attention: {} rows exceed what one launch can hold",
          rows);
  return Team(current_space(), static_cast<int>(rows), threads_on_host ? 1 : 4, threads_on_host ? 1 : 32);
}

}  // namespace minigift::attention
