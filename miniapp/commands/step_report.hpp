#pragma once
// What `minigift step` prints while it runs, and its verdicts.

#include "miniapp/commands/setup.hpp"
#include "miniapp/report/progress.hpp"
#include "miniapp/report/run_record.hpp"
#include "miniapp/step/step_benchmark.hpp"
#include "miniapp/step/step_summary.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace minigift {

/// Prints on rank 0, keeps time on all ranks.
class StepProgress {
 public:
  StepProgress(bool prints, const Deck& deck);

  void header(const Setup& setup, const StepCompute& compute);
  void iteration(const IterationRow& row);
  void message(const std::string& line);
  void finish();
  double seconds() const;  ///< since construction

 private:
  const Deck& deck_;
  bool prints_;
  std::unique_ptr<ProgressLine> line_;
  std::chrono::steady_clock::time_point start_, loop_start_;
  std::int64_t done_ = 0;  // iterations of all methods
};

/// "rank 3 is on host": a line for each rank that is the slowest of some method; empty on one host.
std::string slowest_hosts(const std::vector<StepSummary>& summaries,
                          const std::vector<nlohmann::ordered_json>& placement);

/// Lines checksum, exchange (one per method), wire, finite.
std::vector<VerifyLine> verify_step(const StepBenchmark& benchmark, const std::vector<StepSummary>& summaries,
                                    int ranks);

/// step_seconds, tokens_per_second and gradient_bandwidth of each method.
std::vector<std::pair<std::string, double>> step_figures_of_merit(const std::vector<StepSummary>& summaries);

}  // namespace minigift
