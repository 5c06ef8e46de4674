#pragma once
// minigift train DECK: pretrains the deck's model once per method and compares them.

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace minigift {

struct TrainArguments {
  std::string deck;
  std::vector<std::string> overrides;  ///< the words after each --set
  std::string output;                  ///< --out
  std::string trace;                   ///< --trace
  std::string keep;                    ///< --keep
  bool share_gpu = false;              ///< --share-gpu
  bool print_deck = false;
  bool print_help_deck = false;
  bool markdown = false;
  std::vector<std::string> command_line;
};

void add_train_command(CLI::App& app, TrainArguments& arguments);

/// Every deck key with its unit, default and meaning.
void print_deck_help(bool markdown);

/// Collective over all ranks. Returns the exit status: 0 if the result is valid, else 1. Throws UsageError or
/// RuntimeError, the same on all ranks.
int run_train(const TrainArguments& arguments);

}  // namespace minigift
