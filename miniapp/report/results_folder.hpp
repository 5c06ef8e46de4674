#pragma once
// The output folder: made new, never overwritten.

#include "miniapp/report/csv_file.hpp"
#include "miniapp/report/step_row.hpp"

#include <cstdio>
#include <string>

namespace minigift {

/// Creates `directory` (with parents). Throws UsageError if it holds a command's results already,
/// is no folder, or cannot be written; the message names it and says what to do.
void create_results_folder(const std::string& directory);

/// Writes `text` to a file that must not exist. Throws UsageError if it does, RuntimeError if writing fails.
void write_new_file(const std::string& path, const std::string& text);

/// Opens a file that must not exist for writing. Throws UsageError if it does or cannot be created.
std::FILE* open_new_file(const std::string& path);

/// steps.csv of a training.
class StepsFile : public CsvFile<StepRow> {
 public:
  /// Creates directory/steps.csv, which must not exist.
  explicit StepsFile(const std::string& directory);
};

}  // namespace minigift
