#pragma once
// A study's figures as tables for people, in text or Markdown.

#include "miniapp/fidelity/claims.hpp"
#include "miniapp/fidelity/study.hpp"

#include <string>

namespace minigift {

/// A titled section per table: Tables I and II with the paper's figures beside ours, all transforms and
/// formats, roles, factor ages, summed gradients, claims.
std::string study_text(const StudyResult& result, const StudyOptions& options, bool markdown);

}  // namespace minigift
