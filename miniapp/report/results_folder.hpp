#pragma once
// The output folder: made new, never overwritten.

#include "miniapp/report/step_row.hpp"

#include <cstdio>
#include <string>

namespace minigift {

/// Creates `directory` (with parents). Throws UsageError if it holds a command's results already,
/// is no folder, or cannot be written; the message names it and says what to do.
void create_results_folder(const std::string& directory);

/// Writes `text` to a file that must not exist. Throws UsageError if it does, RuntimeError if writing fails.
void write_new_file(const std::string& path, const std::string& text);

/// steps.csv: the header, then complete rows, each flushed as it is written.
class StepsFile {
 public:
  /// Creates directory/steps.csv, which must not exist.
  explicit StepsFile(const std::string& directory);
  ~StepsFile();
  StepsFile(const StepsFile&) = delete;
  StepsFile& operator=(const StepsFile&) = delete;
  /// Throws RuntimeError if the row could not be written.
  void add(const StepRow& row);

  static std::string header();
  static std::string line(const StepRow& row);

 private:
  std::string path_;
  std::FILE* file_;
};

}  // namespace minigift
