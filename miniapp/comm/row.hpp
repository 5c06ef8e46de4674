#pragma once
// One row of the table: what was measured of one case, and the figures that follow from its samples.

#include "miniapp/comm/case.hpp"
#include "miniapp/report/measurement.hpp"
#include "miniapp/report/run_record.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace minigift {

struct CommRow {
  CommCase wanted;
  int ranks = 1;
  std::string skipped;  ///< why it was not measured; empty: it was

  double seconds_first = 0;     ///< of the first warm-up iteration
  std::vector<double> seconds;  ///< per measured iteration, the maximum over the ranks
  std::int64_t wire_bytes = 0;  ///< that one rank sends
  bool wire_counted = true;     ///< by the transport's counters; else a closed form alone
  double error = 0;             ///< the largest over ranks and compared iterations
  double bound = 0;
  std::int64_t comparisons = 0;  ///< iterations in which every element was compared
  std::string error_failure;     ///< what a comparison found wrong, first case
  std::string checksum_failure;
  std::string wire_failure;

  Verdict verdict() const;
  /// The word of the table and of records: SKIPPED, or that of verdict().
  std::string verdict_text() const;
};

struct CommTimes {
  double minimum = 0, median = 0, p95 = 0, maximum = 0;  ///< [s] over iterations
};
CommTimes times_of(const CommRow& row);
/// size / time and that times bus_factor(), in B/s.
double algorithm_bandwidth(const CommRow& row, double seconds);
double bus_bandwidth(const CommRow& row, double seconds);

/// VERIFY lines: reduce, moves, checksum, wire; those that no row speaks of are left out.
std::vector<VerifyLine> verify(std::span<const CommRow> rows);

/// Of sums on all ranks, "gradient_bandwidth COLLECTIVE FORMAT": bytes of the largest FP32 gradient / median
/// time, in B/s, so that formats can be compared.
std::vector<std::pair<std::string, double>> figures_of_merit(std::span<const CommRow> rows);

}  // namespace minigift
