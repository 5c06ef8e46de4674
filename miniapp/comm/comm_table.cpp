#include "miniapp/comm/comm_table.hpp"

#include "miniapp/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace minigift {
namespace {

std::string microseconds(double seconds) {
  return cell_fixed(1e6 * seconds, 1);
}
std::string gigabytes_per_second(double bandwidth) {
  return cell_fixed(1e-9 * bandwidth, 3);
}

/// Reasons in the order in which they first appear.
std::vector<std::string> skip_reasons(std::span<const CommRow> rows) {
  std::vector<std::string> reasons;
  for (const CommRow& row : rows) {
    const bool known = std::find(reasons.begin(), reasons.end(), row.skipped) != reasons.end();
    if (!row.skipped.empty() && !known) reasons.push_back(row.skipped);
  }
  return reasons;
}

}  // namespace

std::string comm_legend() {
  return "size: bytes of the codes of `count` elements. time: maximum over ranks of each iteration, then "
         "over "
         "iterations.\n"
         "algbw = size / time; busbw = algbw * 2(N-1)/N for sums on every rank, (N-1)/N for the others "
         "(nccl-tests' factors).\n"
         "wire: bytes one rank sends (* not counted, a closed form). error: max over elements of |error| / "
         "sum of magnitudes,\n"
         "less what values below the format's normal range may lose; moves: share of wrong bytes. "
         "miniapp/comm/README.md derives all.\n";
}

std::string comm_table(std::span<const CommRow> rows) {
  const std::vector<std::string> reasons = skip_reasons(rows);
  Table table({{"size", "B"},
               {"count"},
               {"type", "", Align::left},
               {"collective", "", Align::left},
               {"time min", "us"},
               {"median", "us"},
               {"p95", "us"},
               {"max", "us"},
               {"algbw", "GB/s"},
               {"busbw", "GB/s"},
               {"wire", "B/rank"},
               {"error"},
               {"bound"},
               {"verdict", "", Align::left}});
  for (const CommRow& row : rows) {
    std::vector<std::string> cells = {cell_count(row.wanted.size()), cell_count(row.wanted.count),
                                      name(row.wanted.format), std::string(name_of(row.wanted.collective))};
    if (!row.skipped.empty()) {
      const auto place = std::find(reasons.begin(), reasons.end(), row.skipped);
      cells.insert(cells.end(), 9, "-");
      cells.push_back(fmt::format("SKIPPED [{}]", place - reasons.begin() + 1));
    } else {
      const CommTimes times = times_of(row);
      for (const double seconds : {times.minimum, times.median, times.p95, times.maximum})
        cells.push_back(microseconds(seconds));
      cells.push_back(gigabytes_per_second(algorithm_bandwidth(row, times.median)));
      cells.push_back(gigabytes_per_second(bus_bandwidth(row, times.median)));
      cells.push_back(cell_count(row.wire_bytes) + (row.wire_counted ? "" : "*"));
      cells.push_back(row.comparisons > 0 ? cell_scientific(row.error, 2) : "-");
      cells.push_back(row.comparisons > 0 ? cell_scientific(row.bound, 2) : "-");
      cells.push_back(row.verdict_text());
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string skip_notes(std::span<const CommRow> rows) {
  std::string text;
  const std::vector<std::string> reasons = skip_reasons(rows);
  for (std::size_t i = 0; i < reasons.size(); ++i)
    text += fmt::format("[{}] not measured: {}\n", i + 1, reasons[i]);
  return text;
}

std::string reference_table(std::span<const CommRow> rows, std::span<const ReferenceCurve> curves) {
  if (curves.empty()) return "";
  Table table({{"size", "B"},
               {"type", "", Align::left},
               {"collective", "", Align::left},
               {"median", "us"},
               {"busbw", "GB/s"},
               {"ref. time", "us"},
               {"ref. busbw", "GB/s"},
               {"time / ref."},
               {"reference", "", Align::left}});
  bool found = false;
  for (const CommRow& row : rows) {
    if (!row.skipped.empty()) continue;
    for (const ReferenceCurve& curve : curves) {
      const auto point = point_for(row, curve);
      if (!point) continue;
      found = true;
      const double seconds = times_of(row).median;
      table.add_row({cell_count(row.wanted.size()), name(row.wanted.format),
                     std::string(name_of(row.wanted.collective)), microseconds(seconds),
                     gigabytes_per_second(bus_bandwidth(row, seconds)), microseconds(point->seconds),
                     gigabytes_per_second(point->bus_bandwidth), cell_fixed(seconds / point->seconds, 2),
                     fmt::format("{} {} {}{}", curve.tool, name_of(curve.operation),
                                 curve.type.empty() ? "" : curve.type + " ", curve.file)});
    }
  }
  const std::string title = "Beside the reference curves, at equal size in bytes:\n";
  return title + (found ? table.text() : "none of their operations and sizes was measured here\n");
}

}  // namespace minigift
