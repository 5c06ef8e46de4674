#pragma once
// What happens around the exchange in one iteration: the model's own computation, or waits in its place.
//
// Calls of one iteration, in this order: prepare (not timed), forward once per micro-batch, backward once per
// micro-batch after its forward, update. Implementations open the regions "forward", "backward" and
// "optimizer".

#include "kernels/view.hpp"
#include "miniapp/model/llama.hpp"
#include "miniapp/model/parameter_registry.hpp"

#include <cstdint>
#include <string>

namespace minigift {

class StepCompute {
 public:
  virtual ~StepCompute() = default;

  virtual const ParameterRegistry& registry() const = 0;
  /// The flat gradient buffer.
  virtual const Vector<float>& gradients() const = 0;
  /// Micro-batches M of this rank in one iteration.
  virtual std::int64_t micro_batches() const = 0;
  /// Tokens of the global batch, 0 where none are computed.
  virtual std::int64_t tokens() const = 0;

  /// Everything that is there before the iteration begins. `inputs` sees the linear inputs of a forward pass
  /// that belongs here.
  virtual void prepare(std::int64_t iteration, const InputHook<float>& inputs) = 0;
  virtual void forward(std::int64_t micro_batch, const InputHook<float>& inputs) = 0;
  /// `ready` is called for each tensor, descending, in the last micro-batch; empty otherwise.
  virtual void backward(const GradientHook& ready) = 0;
  virtual void update(double gradient_factor) = 0;

  /// Whether prepare() leaves the final gradients in the buffer, so that a comparison can keep its copy of
  /// them before the timed part.
  virtual bool prepares_gradients() const = 0;

  /// What computes, and what the gradients are: for headers.
  virtual std::string description() const = 0;
  /// "model", or the gradient source's identity.
  virtual std::string gradients_identity() const = 0;
};

}  // namespace minigift
