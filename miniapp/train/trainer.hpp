#pragma once
// Data-parallel pretraining of one Llama with one method of gradient exchange.
//
// A step, on N ranks with M micro-batches of B sequences each (global batch N*M*B):
//   for each micro-batch: forward, backward; gradients accumulate in FP32 to the mean over this rank's
//   sequences exchange (from the last backward on): mean over the ranks global norm, clipping, optimizer
// Sequences, initial weights and all random numbers depend on (seed, step, index in the global batch) alone,
// so that every N and B trains on the same data from the same weights.

#include "miniapp/data/batch.hpp"
#include "miniapp/data/token_source.hpp"
#include "miniapp/deck/deck.hpp"
#include "miniapp/exchange/codec_exchange.hpp"
#include "miniapp/exchange/exchange_check.hpp"
#include "miniapp/model/llama.hpp"
#include "miniapp/report/region_timer.hpp"
#include "miniapp/report/step_row.hpp"
#include "miniapp/train/deck_options.hpp"
#include "miniapp/train/optimizer.hpp"
#include "miniapp/train/step_observer.hpp"
#include "miniapp/transport/communicator.hpp"

#include <memory>
#include <string>
#include <vector>

namespace minigift {

class Trainer {
 public:
  /// Collective. All references must outlive the trainer. `timer` may be null: then rows hold no times.
  Trainer(const Deck& deck, const MethodDeck& method, const TokenSource& source, Communicator& communicator,
          RegionTimer* timer);

  /// Lets someone look on at the steps from now on; null: nobody. The observer must outlive its steps.
  void observe(StepObserver* observer) { observer_ = observer; }

  /// One optimizer step, the next from 1 on. Collective. Throws RuntimeError if replicas differ and neither
  /// the method nor the deck allows it.
  StepRow step();
  /// Mean loss over the deck's held-out sequences. Collective; leaves no trace in the training state.
  double validate();

  const std::string& method_name() const { return exchange_->method().name; }
  std::string description() const { return exchange_->description(); }
  Llama<float>& model() { return model_; }
  CodecExchange& exchange() { return *exchange_; }

  /// False once replicas differed after a step.
  bool replicas_identical() const { return replicas_identical_; }
  /// Largest relative distance of a rank's parameters from the mean, as of the last checked step.
  double replica_divergence() const { return divergence_; }
  /// False once the payload bytes this rank sent in a step differed from the plan's closed form.
  bool wire_bytes_as_planned() const { return wire_as_planned_; }
  /// Why steps were skipped: one line each.
  const std::vector<std::string>& skipped() const { return skipped_; }
  std::int64_t exchange_memory_bytes() const { return exchange_->memory_bytes(); }

 private:
  /// Micro-batches M of this rank for a global batch.
  std::int64_t micro_batches(std::int64_t global_batch) const;
  double accumulate_gradients(bool check, bool observed);
  void load_micro_batch(std::int64_t index);
  void collect_times(StepRow& row, const TransportCounters& before);
  void check_replicas(bool measure);

  const Deck& deck_;
  Communicator& communicator_;
  RegionTimer* timer_;
  BatchSampler sampler_;
  Llama<float> model_;
  std::unique_ptr<CodecExchange> exchange_;
  Optimizer optimizer_;
  ExchangeCheck check_;
  InputHook<float> input_hook_;
  OutputHook<float> output_hook_;
  StepObserver* observer_ = nullptr;
  bool observing_inputs_ = false;  // in this step

  std::int64_t micro_batches_ = 0;  // M of this step
  HostVector<std::int32_t> host_tokens_, host_targets_;
  Vector<std::int32_t> tokens_, targets_;  // (B*T)
  std::int64_t step_ = 0;
  bool replicas_identical_ = true;
  bool wire_as_planned_ = true;
  double divergence_ = 0.0;
  std::vector<std::string> skipped_;
};

}  // namespace minigift
