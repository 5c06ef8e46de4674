#pragma once
// Reads a rank's own arrays again, before the trace gets its name.

#include "miniapp/trace/layout.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// An array of this rank's, and what it handed in.
struct WrittenPart {
  std::int64_t step = 0;
  trace_layout::ArrayPlan plan;
  std::uint64_t content_hash = 0;
};

/// Throws RuntimeError that names the first array whose part of rank `rank` is not in the file as it was
/// handed in. The file must be closed on all ranks.
///
/// Needed after collective writes: Open MPI's (4.1, components vulcan, dynamic and dynamic_gen2 of fcoll)
/// report success where write(2) failed, so that a full disk goes unnoticed. Independent writes report it.
void read_back(const std::string& path, int rank, const std::vector<WrittenPart>& parts);

}  // namespace minigift
