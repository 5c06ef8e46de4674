#pragma once
// What GIFT's section V says, tested on one trace's figures.

#include "miniapp/fidelity/study.hpp"

#include <string>
#include <vector>

namespace minigift {

enum class ClaimVerdict { agrees, contradicts, not_measured };
/// "AGREES", "CONTRADICTS", "NOT MEASURED"
std::string_view claim_word(ClaimVerdict verdict);

struct Claim {
  std::string section;  ///< of the paper
  std::string claim;    ///< in our words
  ClaimVerdict verdict = ClaimVerdict::not_measured;
  std::string figures;  ///< what was measured, and the bound that decides
};

/// Judged on the figures of the first format of the study; E5M2 is what the paper's figures fit.
std::vector<Claim> judge_claims(const StudyResult& result, const std::string& format);

}  // namespace minigift
