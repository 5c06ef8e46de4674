#pragma once
// The real Llama step on random text: synthetic tokens, new in every iteration.
//
// The learning rate is 0: the optimizer does all its work, but the weights stay as they were initialised, so
// that every method meets the same gradients in every round, and methods can share one model and one
// optimizer state.

#include "miniapp/data/batch.hpp"
#include "miniapp/data/synthetic_source.hpp"
#include "miniapp/deck/deck.hpp"
#include "miniapp/step/step_compute.hpp"
#include "miniapp/train/optimizer.hpp"
#include "miniapp/transport/communicator.hpp"

#include <memory>
#include <string>

namespace minigift {

class ModelCompute final : public StepCompute {
 public:
  /// `workload` full: all phases. backward: the forward pass is part of prepare() and there is one
  /// micro-batch, whose activations are stored; no optimizer. The references must outlive this.
  ModelCompute(const Deck& deck, Communicator& communicator);

  const ParameterRegistry& registry() const override { return model_.registry(); }
  const Vector<float>& gradients() const override { return model_.gradients(); }
  std::int64_t micro_batches() const override { return micro_batches_; }
  std::int64_t tokens() const override;
  void prepare(std::int64_t iteration, const InputHook<float>& inputs) override;
  void forward(std::int64_t micro_batch, const InputHook<float>& inputs) override;
  void backward(const GradientHook& ready) override;
  void update(double gradient_factor) override;
  bool prepares_gradients() const override { return false; }
  std::string description() const override;
  std::string gradients_identity() const override { return "model"; }

 private:
  bool full() const { return deck_.step.workload == WorkloadChoice::full; }
  void load_tokens(std::int64_t micro_batch);
  void pass_forward(const InputHook<float>& inputs);

  const Deck& deck_;
  Communicator& communicator_;
  SyntheticSource source_;
  BatchSampler sampler_;
  Llama<float> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t micro_batches_ = 1;
  std::int64_t iteration_ = 0;
  HostVector<std::int32_t> host_tokens_, host_targets_;
  Vector<std::int32_t> tokens_, targets_;  // (B*T)
};

}  // namespace minigift
