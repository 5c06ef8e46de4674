#pragma once
// minigift compare: did anything become slower?

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace minigift {

struct CompareArguments {
  std::string baseline;
  std::string current;
  std::optional<double> band;
  std::string bands_file;
  double floor = 0.01;
  std::int64_t least_samples = 5;
  bool force = false;
  bool allow_invalid = false;
  bool strict = false;
  bool all = false;
  std::string json_file;
  std::string junit_file;
};

void add_compare_command(CLI::App& app, CompareArguments& arguments);

/// Serial: to be called on one rank. Returns the exit status: 0, or 3 if something FAILs. Throws UsageError
/// for records that cannot be read or compared, and if nothing at all could be judged.
int run_compare(const CompareArguments& arguments);

}  // namespace minigift
