#pragma once
// minigift fidelity TRACE: what formats and coordinates do to the recorded gradients.

#include "miniapp/fidelity/study.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace minigift {

struct FidelityArguments {
  std::string trace;
  std::string output;  ///< --out
  StudyOptions study;
  std::vector<std::string> parts;  ///< --only
  bool list = false;
  bool markdown = false;
  bool figures = true;
  bool share_gpu = false;
  std::vector<std::string> command_line;
};

void add_fidelity_command(CLI::App& app, FidelityArguments& arguments);

/// The transforms and formats by name, with what they are.
void print_fidelity_list();

/// Collective over all ranks, which share the tensors. Returns the exit status: 0 if the result is valid,
/// else 1.
int run_fidelity(const FidelityArguments& arguments);

}  // namespace minigift
