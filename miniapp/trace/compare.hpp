#pragma once
// Two traces, array by array: how far the second is from the first.

#include "miniapp/trace/layout.hpp"
#include "miniapp/trace/trace_reader.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// One array of one step, all ranks that both traces recorded taken together. a is the first trace's, b the
/// second's; sums in FP64.
struct ArrayComparison {
  std::int64_t step = 0;
  trace_layout::ArrayKind kind = trace_layout::ArrayKind::gradient;
  std::string owner;  ///< tensor or site
  std::int64_t ranks = 0;
  std::int64_t elements = 0;
  double relative_l2 = 0.0;     ///< ||b - a|| / ||a||; 0 for equal arrays, infinite if only a is zero
  double cosine = 1.0;          ///< <a, b> / (||a|| ||b||); 1 if both are zero, 0 if one is
  double max_difference = 0.0;  ///< max |b - a|, in the array's units; NaN if an element is
  bool equal_bits = true;
};

struct TraceComparison {
  std::vector<ArrayComparison> arrays;
  /// What cannot be compared, in words: steps, arrays or ranks of one trace alone, other shapes.
  std::vector<std::string> unmatched;
};

/// Matches arrays by step and name. Throws RuntimeError with HDF5's words if one cannot be read.
TraceComparison compare_traces(const TraceReader& a, const TraceReader& b);

/// True if everything matches and no relative_l2 is above `tolerance` (a NaN is).
bool within(const TraceComparison& comparison, double tolerance);

}  // namespace minigift
