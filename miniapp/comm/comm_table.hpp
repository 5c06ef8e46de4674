#pragma once
// The tables of `minigift comm`: as users of nccl-tests and of the OSU micro-benchmarks know them.

#include "miniapp/comm/reference_curve.hpp"
#include "miniapp/comm/row.hpp"

#include <span>
#include <string>

namespace minigift {

/// What the columns are, in a few lines.
std::string comm_legend();
/// The rows of one size, or of all. Rows that were not measured show "-" and a number that `skip_notes`
/// explains.
std::string comm_table(std::span<const CommRow> rows);
/// One line per reason for which rows were not measured; empty without any.
std::string skip_notes(std::span<const CommRow> rows);
/// Rows beside the points of equal operation and size; a line that says so if there are none. Empty without
/// curves.
std::string reference_table(std::span<const CommRow> rows, std::span<const ReferenceCurve> curves);

}  // namespace minigift
