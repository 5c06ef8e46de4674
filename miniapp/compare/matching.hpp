#pragma once
// Which case of one side is compared with which of the other.

#include "miniapp/compare/record_set.hpp"

#include <string>
#include <vector>

namespace minigift {

/// A case of both sides, or of one alone (the other is nullptr).
struct MatchedCase {
  const MeasuredCase* baseline = nullptr;
  const MeasuredCase* current = nullptr;
  std::vector<std::string> differing = {};  ///< "global_batch 64 against 32", of a forced match
};

/// Equal keys match. What is left on both sides with the same command, method or collective with format and
/// count, and ranks is unlike: refused by a UsageError that names what differs, or with `force` matched,
/// nearest first. Throws UsageError if nothing matches. Ordered as the baseline, then what only the current
/// side has. The result points into both arguments.
std::vector<MatchedCase> match_cases(const RecordSet& baseline, const RecordSet& current, bool force);

/// The values that differ, "name BASELINE against CURRENT", in the baseline's order.
std::vector<std::string> differing_values(const nlohmann::ordered_json& baseline,
                                          const nlohmann::ordered_json& current);

/// A short name of each match, "gift" or "a2a e4m3 1,048,576"; where several have the same command, name and
/// ranks, with the values in which they differ.
std::vector<std::string> case_names(const std::vector<MatchedCase>& matches);

}  // namespace minigift
