#pragma once
// Waits in the place of the model's computation, gradients from a source: the exchange and its overlap at
// rank counts and sizes that this machine could not compute.
//
// During backward the tensors become ready one after the other, the weight matrices after a share of the time
// that goes with their size, as their products' flop do; other tensors take none. A wait sleeps: the core is
// free for other ranks meanwhile, as where a device computes.

#include "miniapp/step/gradient_source.hpp"
#include "miniapp/step/step_compute.hpp"

#include <memory>
#include <string>
#include <vector>

namespace minigift {

/// Lengths [s] of one iteration's phases on one rank.
struct ComputeSeconds {
  double forward = 0;
  double backward = 0;
  double optimizer = 0;
};

class TimedCompute final : public StepCompute {
 public:
  /// `tokens`: of the global batch, 0 for none. All lengths 0: gradients only.
  TimedCompute(std::unique_ptr<GradientSource> source, const ComputeSeconds& seconds,
               std::int64_t micro_batches, std::int64_t tokens);

  const ParameterRegistry& registry() const override { return source_->registry(); }
  const Vector<float>& gradients() const override { return gradients_; }
  std::int64_t micro_batches() const override { return micro_batches_; }
  std::int64_t tokens() const override { return tokens_; }
  void prepare(std::int64_t iteration, const InputHook<float>& inputs) override;
  void forward(std::int64_t micro_batch, const InputHook<float>& inputs) override;
  void backward(const GradientHook& ready) override;
  void update(double gradient_factor) override;
  bool prepares_gradients() const override { return true; }
  std::string description() const override;
  std::string gradients_identity() const override { return source_->identity(); }

 private:
  std::unique_ptr<GradientSource> source_;
  ComputeSeconds seconds_;
  std::int64_t micro_batches_;
  std::int64_t tokens_;
  std::int64_t iteration_ = 0;
  Vector<float> gradients_;
  std::vector<double> done_;  // per tensor: share of backward that is over when its gradient is ready
};

}  // namespace minigift
