#pragma once
// Someone who looks on while a training step runs: sees operands of products and local gradients before the
// exchange may change them. Looking on changes no bit of the training, except that an observer may ask for
// more micro-batches in its steps.

#include "kernels/format/bfloat16.hpp"
#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// What a step was, when it is over.
struct ObservedStep {
  std::int64_t step = 0;  ///< from 1
  double learning_rate = 0;
  double local_loss = 0;           ///< mean loss of this rank's tokens
  std::int64_t micro_batches = 0;  ///< of this rank in this step
  std::int64_t tokens = 0;         ///< of this rank in this step
};

/// All methods run on every rank in the same order; their time is no part of the step.
class StepObserver {
 public:
  virtual ~StepObserver() = default;

  /// Sequences of the global batch of this step: what training plans, or more.
  virtual std::int64_t global_batch(std::int64_t /*step*/, std::int64_t planned) const { return planned; }
  /// Before the first forward pass. The methods below follow only if this returns true.
  virtual bool begin_step(std::int64_t step) = 0;

  virtual bool observes_inputs() const { return false; }
  virtual void observe_input(int /*site*/, const Matrix<const float>& /*x*/) {}
  virtual void observe_input(int /*site*/, const Matrix<const bfloat16>& /*x*/) {}

  /// dy (R, rows) of every micro-batch: the derivative of (mean loss of the micro-batch / micro-batches) by
  /// the layer's output. d, the derivative of the loss summed over tokens, is dy times the tokens of the
  /// step.
  virtual bool observes_outputs() const { return false; }
  virtual void observe_output(int /*parameter*/, const Matrix<const float>& /*dy*/) {}
  virtual void observe_output(int /*parameter*/, const Matrix<const bfloat16>& /*dy*/) {}

  /// The parameter's gradient is this rank's mean over its tokens; the exchange has not touched it yet.
  virtual void gradient_ready(int parameter) = 0;
  /// After the optimizer. Collective operations are allowed here.
  virtual void end_step(const ObservedStep& step) = 0;
};

}  // namespace minigift
