#pragma once
// Cells of a CSV file (RFC 4180).

#include <cstdint>
#include <string>

namespace minigift {

/// Quoted where it holds a comma, a quote or a line end.
std::string csv_cell(const std::string& text);
std::string csv_cell(std::int64_t value);
std::string csv_cell(bool value);
/// The shortest text that reads back to the same number; empty for NaN.
std::string csv_cell(double value);

}  // namespace minigift
