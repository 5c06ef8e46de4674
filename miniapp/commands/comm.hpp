#pragma once
// minigift comm DECK: the gradient collectives by message size.

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace minigift {

struct CommArguments {
  std::string deck;
  std::vector<std::string> overrides;   ///< --set
  std::string output;                   ///< --out
  std::string keep;                     ///< --keep
  std::vector<std::string> references;  ///< --reference
  bool print_deck = false;
  bool share_gpu = false;
  std::vector<std::string> command_line;
};

void add_comm_command(CLI::App& app, CommArguments& arguments);

/// Collective over all ranks. Returns the exit status: 0 if the result is valid, else 1. Throws UsageError or
/// RuntimeError, the same on all ranks.
int run_comm(const CommArguments& arguments);

}  // namespace minigift
