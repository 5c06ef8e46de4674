#pragma once
// The methods' iterations, in turns A B C A B C, so that whatever drifts on the machine meets all of them
// alike.
//
// Of one iteration
//   not timed    the iteration is prepared; a barrier
//   timed        forward, backward with the exchange, the exchange's end, the optimizer's update
//   not timed    the transport's bytes against the plan; the hash of the exchanged gradient over the ranks;
//   every
//                check_every-th time the gradient against an FP64 sum of what the ranks sent
// Times are those of named regions (miniapp/report/region_timer.hpp); nothing is subtracted from anything.

#include "miniapp/deck/deck.hpp"
#include "miniapp/exchange/codec_exchange.hpp"
#include "miniapp/exchange/exchange_check.hpp"
#include "miniapp/report/region_timer.hpp"
#include "miniapp/step/iteration_row.hpp"
#include "miniapp/step/step_compute.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace minigift {

/// What went wrong in a method's iterations, one line each; empty: nothing.
struct StepFindings {
  std::vector<std::string> disagreeing;  ///< iterations after which ranks held different bits
  std::vector<std::string> skipped;
  std::int64_t compared = 0;  ///< exchanges that were compared with an FP64 sum
  std::int64_t exchanges = 0;
  bool wire_as_planned = true;
  bool allows_divergence = false;
};

class StepBenchmark {
 public:
  /// Collective. One exchange per method of the deck, all on the compute's gradient buffer. The references
  /// must outlive the benchmark.
  StepBenchmark(const Deck& deck, StepCompute& compute, Communicator& communicator, RegionTimer& timer);

  int methods() const { return static_cast<int>(exchanges_.size()); }
  const CodecExchange& exchange(int method) const { return *exchanges_[static_cast<std::size_t>(method)]; }
  const StepFindings& findings(int method) const { return findings_[static_cast<std::size_t>(method)]; }

  /// One iteration of one method, the next from 1 on; the first `warmup` of the deck count for nothing.
  /// Collective.
  IterationRow run(int method);

 private:
  void hang();
  ExchangeResult timed_part(CodecExchange& exchange, const InputHook<float>& inputs, bool capture);
  void collect_times(IterationRow& row);
  /// Changes one bit of this rank's exchanged gradient, if the deck asks for it.
  void inject_fault();
  void check_ranks(int method, IterationRow& row);

  const Deck& deck_;
  StepCompute& compute_;
  Communicator& communicator_;
  RegionTimer& timer_;
  std::vector<std::unique_ptr<CodecExchange>> exchanges_;
  std::vector<double> error_bounds_;
  std::vector<StepFindings> findings_;
  std::vector<std::int64_t> iterations_;  // done, per method
  TransportCounters after_exchange_;      // of this iteration
  std::optional<ExchangeCheck> check_;
};

}  // namespace minigift
