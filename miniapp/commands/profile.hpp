#pragma once
// minigift profile DECK|TRACE: which layers' gradients FP8 hurts most, and where coordinates would help.

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace minigift {

struct ProfileArguments {
  std::string input;                   ///< a deck, or a trace
  std::vector<std::string> overrides;  ///< --set
  std::int64_t steps = 100;
  std::int64_t measure_every = 10;
  std::string format = "e4m3";
  std::string lower = "least";
  std::string score = "gain";  ///< --by
  std::int64_t top = 0;        ///< --top-k; 0: the visible drop
  std::vector<std::string> tensors = {"mlp"};
  std::string output;     ///< --out
  std::string selection;  ///< --select
  bool figures = true;
  bool share_gpu = false;
  std::vector<std::string> command_line;
};

void add_profile_command(CLI::App& app, ProfileArguments& arguments);

/// Collective over all ranks. Returns the exit status.
int run_profile(const ProfileArguments& arguments);

}  // namespace minigift
