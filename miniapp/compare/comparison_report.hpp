#pragma once
// A comparison for people (text), for programs (JSON) and for test harnesses (JUnit XML).

#include "miniapp/compare/comparison.hpp"

#include <string>

namespace minigift {

/// The table (headline rows and those that do not pass, or `all`), FAIL rows again, notes, and the counts as
/// the last line: "COMPARE 12 PASS, 1 WARN, 0 FAIL, 0 UNKNOWN".
std::string comparison_text(const Comparison& comparison, bool all);

/// Everything. It has "compare_version", not "schema_version": no record of a run. Infinities and NaN are
/// null.
nlohmann::ordered_json to_json(const Comparison& comparison);

/// One <testcase> per row: FAIL as <failure>, UNKNOWN as <skipped>, WARN in <system-out>.
std::string junit_xml(const Comparison& comparison);

}  // namespace minigift
