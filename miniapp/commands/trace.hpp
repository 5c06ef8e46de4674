#pragma once
// minigift trace info|verify|compare: what is in a trace, whether it is what was written, how two differ.

#include <CLI/CLI.hpp>

#include <string>

namespace minigift {

struct TraceArguments {
  CLI::App* info = nullptr;
  CLI::App* verify = nullptr;
  CLI::App* compare = nullptr;
  std::string file;
  std::string other;        ///< the second trace of compare
  bool deck = false;        ///< info: print the deck of the run and nothing else
  double tolerance = -1.0;  ///< compare: largest allowed relative_l2; below 0: none was given
};

void add_trace_command(CLI::App& app, TraceArguments& arguments);

/// Serial: to be called on one rank. Returns the exit status: 0; 1 if verify finds something wrong, or
/// compare something beyond the tolerance. Throws UsageError for a file that is no trace, RuntimeError for
/// one that cannot be read to its end.
int run_trace(const TraceArguments& arguments);

}  // namespace minigift
