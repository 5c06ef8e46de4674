#pragma once
// minigift step DECK: the transformer step as a benchmark, methods in turns.

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace minigift {

struct StepArguments {
  std::string deck;
  std::vector<std::string> overrides;  ///< the words after each --set
  std::string output;                  ///< --out
  std::string keep;                    ///< --keep
  std::string replay;                  ///< --replay
  bool share_gpu = false;              ///< --share-gpu
  bool print_deck = false;
  std::vector<std::string> command_line;
};

void add_step_command(CLI::App& app, StepArguments& arguments);

/// Collective over all ranks. Returns the exit status: 0 if the result is valid, else 1. Throws UsageError or
/// RuntimeError, the same on all ranks.
int run_step(const StepArguments& arguments);

}  // namespace minigift
