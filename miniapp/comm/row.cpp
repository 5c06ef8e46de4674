#include "miniapp/comm/row.hpp"

#include "miniapp/report/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace minigift {
namespace {

std::string name_of_row(const CommRow& row) {
  return fmt::format("{} {} of {} elements", name_of(row.wanted.collective), name(row.wanted.format),
                     row.wanted.count);
}

/// One line from rows of one kind. `failure` gives what went wrong with a row, `unchecked` whether nothing
/// was looked at.
template <class Failure, class Unchecked>
void add_line(std::vector<VerifyLine>& lines, const std::string& name, const std::string& passed,
              std::span<const CommRow* const> rows, Failure&& failure, Unchecked&& unchecked) {
  if (rows.empty()) return;
  VerifyLine line{name, Verdict::pass, passed};
  for (const CommRow* row : rows) {
    const std::string found = failure(*row);
    if (!found.empty()) {
      line = {name, Verdict::fail, fmt::format("{}: {}", name_of_row(*row), found)};
      break;
    }
    if (unchecked(*row))
      line = {name, Verdict::unchecked, fmt::format("{}: nothing was compared", name_of_row(*row))};
  }
  lines.push_back(line);
}

/// The row whose error comes closest to its bound.
const CommRow* closest(std::span<const CommRow* const> rows) {
  const auto share = [](const CommRow* row) { return row->bound > 0 ? row->error / row->bound : 0.0; };
  const auto place = std::max_element(rows.begin(), rows.end(),
                                      [&](const auto* a, const auto* b) { return share(a) < share(b); });
  return place == rows.end() ? nullptr : *place;
}

}  // namespace

Verdict CommRow::verdict() const {
  if (!error_failure.empty() || !checksum_failure.empty() || !wire_failure.empty()) return Verdict::fail;
  return comparisons > 0 && !seconds.empty() ? Verdict::pass : Verdict::unchecked;
}

std::string CommRow::verdict_text() const {
  return skipped.empty() ? std::string(verdict_word(verdict())) : "SKIPPED";
}

CommTimes times_of(const CommRow& row) {
  return {quantile(row.seconds, 0), median(row.seconds), quantile(row.seconds, 0.95),
          quantile(row.seconds, 1)};
}

double algorithm_bandwidth(const CommRow& row, double seconds) {
  return static_cast<double>(row.wanted.size()) / seconds;
}

double bus_bandwidth(const CommRow& row, double seconds) {
  return algorithm_bandwidth(row, seconds) * bus_factor(row.wanted.collective, row.ranks);
}

std::vector<VerifyLine> verify(std::span<const CommRow> rows) {
  std::vector<const CommRow*> all, sums, moves, counted;
  for (const CommRow& row : rows) {
    if (!row.skipped.empty()) continue;
    all.push_back(&row);
    (outcome_of(row.wanted.collective) == Outcome::move ? moves : sums).push_back(&row);
    if (row.wire_counted) counted.push_back(&row);
  }
  const auto no_comparison = [](const CommRow& row) { return row.comparisons == 0; };
  const auto never = [](const CommRow&) { return false; };
  const auto error = [](const CommRow& row) { return row.error_failure; };
  std::vector<VerifyLine> lines;
  if (const CommRow* worst = closest(sums)) {
    add_line(lines, "reduce",
             fmt::format("{} rows, every element against an exact sum; closest to its bound: {}, "
                         "max_rel_err {:.2e} <= {:.2e}",
                         sums.size(), name_of_row(*worst), worst->error, worst->bound),
             sums, error, no_comparison);
  }
  add_line(lines, "moves", fmt::format("{} rows, every byte as sent", moves.size()), moves, error,
           no_comparison);
  add_line(
      lines, "checksum", "64-bit hashes as they must be on all ranks in every iteration", all,
      [](const CommRow& row) { return row.checksum_failure; }, never);
  add_line(
      lines, "wire", "payload bytes counted by the transport equal the closed form in every iteration",
      counted, [](const CommRow& row) { return row.wire_failure; }, never);
  return lines;
}

std::vector<std::pair<std::string, double>> figures_of_merit(std::span<const CommRow> rows) {
  std::int64_t largest = 0;
  for (const CommRow& row : rows)
    largest = std::max(largest, row.wanted.count);
  std::vector<std::pair<std::string, double>> figures;
  for (const CommRow& row : rows) {
    const bool is_sum = outcome_of(row.wanted.collective) == Outcome::sum;
    if (row.wanted.count != largest || !row.skipped.empty() || !is_sum) continue;
    figures.emplace_back(
        fmt::format("gradient_bandwidth {} {}", name_of(row.wanted.collective), name(row.wanted.format)),
        4.0 * static_cast<double>(largest) / times_of(row).median);
  }
  return figures;
}

}  // namespace minigift
