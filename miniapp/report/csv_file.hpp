#pragma once
// A tidy CSV file of rows whose type names its columns (a static function `columns`, see step_row.hpp): made
// new, one complete row at a time, each flushed as it is written. A value that was not measured is an empty
// cell.

#include "miniapp/report/csv_cell.hpp"
#include "miniapp/report/step_row.hpp"

#include <cstdio>
#include <string>

namespace minigift {

/// A file that must not exist, for text that a reader may look at while it grows. Throws UsageError if it
/// does, RuntimeError if it could not be written.
class GrowingFile {
 public:
  explicit GrowingFile(const std::string& path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  /// In one call, so that a reader never sees half of it.
  void append(const std::string& text);

 private:
  std::string path_;
  std::FILE* file_;
};

template <class Row>
class CsvFile {
 public:
  explicit CsvFile(const std::string& path) : file_(path) { file_.append(header()); }
  void add(const Row& row) { file_.append(line(row)); }

  static std::string header() {
    std::string text;
    const Row row;
    Row::columns(row, [&](const auto&, const Column& column) {
      if (!text.empty()) text += ',';
      text += column.name;
    });
    return text + "\n";
  }
  static std::string line(const Row& row) {
    std::string text;
    bool first = true;
    Row::columns(row, [&](const auto& value, const Column&) {
      if (!first) text += ',';
      first = false;
      text += csv_cell(value);
    });
    return text + "\n";
  }

 private:
  GrowingFile file_;
};

}  // namespace minigift
