#pragma once
// The header of a trace as root attributes and the tables /tensors and /sites.

#include "miniapp/trace/hdf5_handle.hpp"
#include "miniapp/trace/trace.hpp"

#include <string_view>

namespace minigift {

/// `file` is open for changes on this rank alone; `path` is its name, for messages.
void write_trace_header(hid_t file, std::string_view path, const TraceHeader& header);
/// Throws RuntimeError if anything is missing or of another type.
TraceHeader read_trace_header(hid_t file, std::string_view path);

}  // namespace minigift
