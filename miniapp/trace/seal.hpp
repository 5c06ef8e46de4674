#pragma once
// The last act of writing: everything but the arrays themselves, then the mark that says the file is whole.

#include "miniapp/trace/layout.hpp"
#include "miniapp/trace/trace.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// What each recorded rank says about its part of an array.
struct RankRecord {
  std::uint64_t content_hash = 0;
  std::array<double, 2> numbers{};  ///< in the order of KindFacts::numbers
};

struct SealedArray {
  trace_layout::ArrayPlan plan;
  std::vector<RankRecord> ranks;
};

struct SealedStep {
  TraceStep step;
  std::vector<SealedArray> arrays;
};

/// On one rank: opens the file, which all have closed, and writes header, attributes of steps and arrays,
/// digests, and at the very end "complete". Throws RuntimeError if that fails.
void seal_trace(const std::string& path, const TraceHeader& header, const std::vector<SealedStep>& steps);

}  // namespace minigift
