#include "miniapp/report/table.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

/// Characters on screen: bytes that do not continue a UTF-8 character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t columns, Align align) {
  const std::string blanks(columns - std::min(columns, width(text)), ' ');
  return align == Align::left ? text + blanks : blanks + text;
}

}  // namespace

Table::Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  require(cells.size() == columns_.size(), "a table of {} columns given a row of {} cells", columns_.size(),
          cells.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> titles;
  std::vector<std::string> units;
  bool any_unit = false;
  for (const TableColumn& column : columns_) {
    titles.push_back(column.title);
    units.push_back(column.unit.empty() ? "" : "(" + column.unit + ")");
    any_unit = any_unit || !column.unit.empty();
  }
  std::vector<std::vector<std::string>> lines = {titles};
  if (any_unit) lines.push_back(units);
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], width(line[i]));
  }
  std::string result;
  for (const auto& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      line += padded(cells[i], widths[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

std::string Table::markdown() const {
  std::string header = "|";
  std::string rule = "|";
  for (const TableColumn& column : columns_) {
    header += " " + column.title + (column.unit.empty() ? "" : " (" + column.unit + ")") + " |";
    rule += column.align == Align::left ? "---|" : "---:|";
  }
  std::string result = header + "\n" + rule + "\n";
  for (const auto& row : rows_) {
    result += "|";
    for (const std::string& cell : row)
      result += " " + cell + " |";
    result += "\n";
  }
  return result;
}

std::string cell_fixed(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string cell_scientific(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}e}", value, digits) : "-";
}

std::string cell_count(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::ptrdiff_t first = digits[0] == '-' ? 1 : 0;
  for (auto at = std::ssize(digits) - 3; at > first; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string cell_scaled(double value) {
  if (!std::isfinite(value)) return "-";
  static constexpr std::string_view prefixes[] = {"", " k", " M", " G", " T", " P"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < std::size(prefixes)) {
    value /= 1000;
    ++prefix;
  }
  const double magnitude = std::abs(value);
  const int digits = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  // A plain count below a thousand is exact; it carries decimals only if it has any.
  const bool whole = prefix == 0 && value == std::floor(value);
  return fmt::format("{:.{}f}{}", value, whole ? 0 : digits, prefixes[prefix]);
}

std::string cell_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 59.95) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e15)));
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

}  // namespace minigift
