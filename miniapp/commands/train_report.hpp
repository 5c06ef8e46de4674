#pragma once
// What `minigift train` prints while it runs, and the records it leaves.

#include "miniapp/commands/setup.hpp"
#include "miniapp/data/token_source.hpp"
#include "miniapp/deck/deck.hpp"
#include "miniapp/report/measurement.hpp"
#include "miniapp/report/method_summary.hpp"
#include "miniapp/report/progress.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace minigift {

/// Prints on rank 0, keeps time on all ranks.
class TrainProgress {
 public:
  TrainProgress(bool prints, const Deck& deck);

  /// Ranks, threads, model, data, methods: once, before anything is trained.
  void header(const Setup& setup, const TokenSource& source);
  void begin_method(const std::string& description, double initial_validation_loss);
  void step(const StepRow& row, bool last);
  void message(const std::string& line);
  void finish();

  double seconds() const;         ///< since construction
  double method_seconds() const;  ///< since begin_method

 private:
  /// Share of the whole run that is done after a step of the current method.
  double fraction(std::int64_t step) const;

  const Deck& deck_;
  bool prints_;
  std::unique_ptr<ProgressLine> line_;
  std::chrono::steady_clock::time_point start_, method_start_;
  std::int64_t methods_begun_ = 0;
};

/// Times of the steps that are no warm-up.
std::vector<Metric> train_metrics(const std::vector<StepRow>& rows);
/// What two trainings with this method must agree in to be compared. Collective.
nlohmann::ordered_json comparable_train(const Setup& setup, const MethodDeck& method);

/// validation_loss_difference to the method fp32, where there is one.
void fill_differences(std::vector<MethodSummary>& methods);

/// Rows at the start of a method that count for no time: the first step allocates and connects.
std::int64_t warmup_rows(std::int64_t rows);

}  // namespace minigift
