#pragma once
// The same profile from a trace's local gradients.

#include "miniapp/profile/layer_profile.hpp"
#include "miniapp/trace/trace_reader.hpp"

#include <functional>
#include <string>
#include <vector>

namespace minigift {

/// Every traced step and recorded rank; the gain from each step's mean gradient and moments. Throws
/// UsageError where the trace lacks gradients or moments of the inputs.
std::vector<LayerProfile> profile_trace(
    const TraceReader& trace, const std::vector<int>& tensors, Format format,
    const std::function<void(double fraction, const std::string& text)>& progress);

}  // namespace minigift
