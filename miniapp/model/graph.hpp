#pragma once
// The model's forward and backward passes as a chain: embedding, decoder layers, final norm, head. One
// implementation for each operand type; Llama chooses at construction.

#include "kernels/view.hpp"
#include "miniapp/model/layer.hpp"
#include "miniapp/model/llama.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/model/workspace.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace minigift {

/// Bytes held, by purpose.
struct GraphMemory {
  std::int64_t operand_weights;    // bfloat16 copy of the weights
  std::int64_t layer_inputs;       // residual stream at each layer boundary
  std::int64_t layer_activations;  // what layers keep for backward
  std::int64_t workspace;          // shared scratch, logits included
  int activation_sets;             // 1 with recomputation, else one per layer
};

template <class S>
class LlamaGraph {
 public:
  virtual ~LlamaGraph() = default;
  virtual void parameters_changed() = 0;
  virtual double forward(const Vector<const std::int32_t>& tokens, const Vector<const std::int32_t>& targets,
                         S gradient_scale, const InputHook<S>& input_hook) = 0;
  virtual void backward(const BackwardHooks<S>& hooks) = 0;
  virtual double evaluate(const Vector<const std::int32_t>& tokens,
                          const Vector<const std::int32_t>& targets) = 0;
  virtual GraphMemory memory() const = 0;
};

/// The graph for `options.compute`, on the given flat buffers.
template <class S>
std::unique_ptr<LlamaGraph<S>> make_graph(const LlamaShape& shape, const LlamaOptions& options,
                                          const ParameterRegistry& registry, const Vector<S>& parameters,
                                          const Vector<S>& gradients);

}  // namespace minigift
