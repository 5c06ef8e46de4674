#include "miniapp/commands/figures.hpp"

#include <fmt/format.h>

#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace minigift {
namespace {

/// Runs a program without a shell and returns its exit status, -1 if it could not be started.
int run_program(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words)
    pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, pointers[0], nullptr, nullptr, pointers.data(), environ) != 0) return -1;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

std::string draw(const std::vector<std::string>& arguments, const std::string& folder) {
  std::vector<std::string> words = {"/usr/bin/python3"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const int status = run_program(words);
  if (status == 0) return fmt::format("figures: in {}\n", folder);
  return fmt::format("figures: NOT drawn (exit {}); {} draws them\n", status, fmt::join(words, " "));
}

}  // namespace

std::string draw_training_figures(const OutputDeck& output) {
  if (!output.figures) return "figures: off (output.figures = false)\n";
  return draw({MINIGIFT_RESULTS_SCRIPTS "/plot_training.py", output.directory}, output.directory);
}

std::string draw_scaling_figures(const OutputDeck& output) {
  if (!output.figures) return "figures: off (output.figures = false)\n";
  return draw({MINIGIFT_RESULTS_SCRIPTS "/plot_scaling.py", output.directory}, output.directory);
}

std::string draw_fidelity_figures(bool wanted, const std::string& trace, const std::string& folder) {
  if (!wanted) return "figures: off (--no-figures)\n";
  std::vector<std::string> words = {MINIGIFT_RESULTS_SCRIPTS "/plot_fidelity.py", folder};
  if (!trace.empty()) words.insert(words.end(), {"--trace", trace});
  return draw(words, folder);
}

}  // namespace minigift
