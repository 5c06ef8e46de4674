#pragma once
// Text tables for people: a header, a row of units, aligned columns.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minigift {

enum class Align { left, right };

struct TableColumn {
  std::string title;
  std::string unit = {};  ///< empty for none
  Align align = Align::right;
};

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns);
  /// Throws RuntimeError unless there is one cell per column.
  void add_row(std::vector<std::string> cells);
  /// Lines end in '\n'; no trailing blanks. Without any unit there is no units row.
  std::string text() const;
  /// The same as a Markdown table.
  std::string markdown() const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Cells. A value that is not finite is shown as "-": nothing was measured.
std::string cell_fixed(double value, int digits);       // 3.142
std::string cell_scientific(double value, int digits);  // 3.1e-02
std::string cell_count(std::int64_t value);             // 16,777,216
/// Exact powers of ten with a prefix: 1.50 M, 12.3 k. Four characters of number, then the prefix.
std::string cell_scaled(double value);
std::string cell_duration(double seconds);  // 1h02m, 3m05s, 4.2s

}  // namespace minigift
