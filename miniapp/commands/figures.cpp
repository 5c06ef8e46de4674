#include "miniapp/commands/figures.hpp"

#include <fmt/format.h>

#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace minigift {
namespace {

/// Runs a program without a shell and returns its exit status, -1 if it could not be started.
int run_program(const std::string& program, const std::string& script, const std::string& argument) {
  char* const words[] = {const_cast<char*>(program.c_str()), const_cast<char*>(script.c_str()),
                         const_cast<char*>(argument.c_str()), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, words, environ) != 0) return -1;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace

std::string draw_figures(const OutputDeck& output) {
  if (!output.figures) return "figures: off (output.figures = false)\n";
  const std::string python = "/usr/bin/python3";
  const std::string script = MINIGIFT_PLOT_SCRIPT;
  const int status = run_program(python, script, output.directory);
  if (status == 0) return fmt::format("figures: in {}\n", output.directory);
  return fmt::format("figures: NOT drawn (exit {}); {} {} {} draws them\n", status, python, script,
                     output.directory);
}

}  // namespace minigift
