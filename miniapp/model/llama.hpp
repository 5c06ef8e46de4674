#pragma once
// The Llama of one rank: flat parameters and gradients, and the forward and backward passes of one
// micro-batch.
//
//   Llama<float> model(shape, {.B = 4, .T = 512});
//   model.initialise(seed);
//   model.zero_gradients();
//   for each micro-batch {
//     loss += model.forward(tokens, targets, 1.0f / (micro_batches * ranks), input_hook);
//     model.backward(gradient_hook);
//   }
//   ... exchange and optimizer change model.parameters() ...
//   model.parameters_changed();
//
// Letters: B batch, T sequence length, R = B*T rows, C hidden, F feed-forward, V vocabulary.

#include "kernels/format/bfloat16.hpp"
#include "kernels/view.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/model/shape.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace minigift {

/// Type of the operands of the linear layers. `bf16`: inputs, weights and output gradients of every linear
/// layer, head included, are rounded to bfloat16 and the products accumulate in FP32. Norms, softmax, rotary
/// embedding, residual stream, loss, weight gradients and parameters stay FP32 in all. `tf32`: the GPU's
/// matrix units round FP32 operands to 11 significant bits as they read them; UsageError on a host build.
enum class Compute { fp32, tf32, bf16 };

struct LlamaOptions {
  std::int64_t B = 1;  // sequences per micro-batch
  std::int64_t T = 1;  // tokens per sequence
  Compute compute = Compute::fp32;
  bool recompute = false;                  // keep only each layer's input; recompute the rest in backward
  std::int64_t logits_bytes = 64ll << 20;  // upper bound of the logits that exist at one time
};

/// Receives matrices that are operands of products. Exactly one of the two members is called, according to
/// `compute`; an empty member is skipped.
template <class S>
struct OperandHook {
  std::function<void(int index, const Matrix<const S>& operand)> full;
  std::function<void(int index, const Matrix<const bfloat16>& operand)> bf16;
};

/// Called in forward with each distinct linear input x (R,width) once, index its input site, in the order of
/// ParameterRegistry::input_sites(). Recomputation in backward does not call it again.
template <class S>
using InputHook = OperandHook<S>;

/// Called in backward with the output gradient dy (R,rows) of each linear layer of the decoder, index its
/// weight's parameter, shortly before the weight's GradientHook. dy is the derivative of gradient_scale times
/// the mean loss of the micro-batch by y = x w^T. The head is not reported: its (R,V) never exists at once.
template <class S>
using OutputHook = OperandHook<S>;

/// Called in backward when the gradient of a parameter has received its last contribution of this
/// micro-batch. Every parameter once, in strictly descending registry index: head, final norm, last layer
/// {down, up, gate, norm, o, v, k, q, norm}, ..., embedding. The work may still be in flight on the device;
/// it is ordered on the default instance.
using GradientHook = std::function<void(int parameter)>;

template <class S>
class LlamaGraph;

/// S = float for training, double for checking. `Compute::bf16` needs S = float.
///
/// All memory is allocated in the constructor; no pass allocates. Passes on the same model must not overlap.
/// Errors: UsageError from the constructor (shape, options); RuntimeError for a token outside [0,V) or for a
/// call out of order (backward without forward).
template <class S>
class Llama {
 public:
  Llama(const LlamaShape& shape, const LlamaOptions& options);
  ~Llama();
  Llama(Llama&&) noexcept;
  Llama& operator=(Llama&&) noexcept;

  const LlamaShape& shape() const { return shape_; }
  const LlamaOptions& options() const { return options_; }
  const ParameterRegistry& registry() const { return registry_; }

  /// The flat buffers, registry().flat_size() elements each.
  const Vector<S>& parameters() const { return parameters_; }
  const Vector<S>& gradients() const { return gradients_; }
  /// One tensor as (rows, columns), a window into the flat buffer; a norm is (1,C).
  Matrix<S> parameter(int index) const;
  Matrix<S> gradient(int index) const;

  /// N(0, init_std); attention output and down projection N(0, init_std/sqrt(2 layers)); norms 1. Each number
  /// depends on (seed, parameter index, element) only. Calls parameters_changed().
  void initialise(std::uint64_t seed);

  /// Must follow every change of parameters(): refreshes the bfloat16 copy of the weights (nothing to do in
  /// FP32).
  void parameters_changed();

  void zero_gradients();

  /// Loss of the micro-batch: the mean over its R tokens of -log softmax(logits)[target]. Keeps what backward
  /// needs. tokens, targets: (R), row b*T + t. The gradient that this pass and the following backward add to
  /// gradients() is gradient_scale times that of the returned loss, so that micro-batches and ranks sum to a
  /// global mean.
  ///
  /// The head works through the rows in chunks, so that at most options().logits_bytes of logits exist, and
  /// does its own backward for a chunk while the chunk's logits are there: after forward, the head's weight
  /// gradient has been added already. Forward must therefore be followed by backward.
  double forward(const Vector<const std::int32_t>& tokens, const Vector<const std::int32_t>& targets,
                 S gradient_scale, const InputHook<S>& input_hook = {});

  /// Adds the gradients of the last forward to gradients().
  void backward(const GradientHook& gradient_hook = {}, const OutputHook<S>& output_hook = {});

  /// Mean loss as forward, but touches no gradient and no parameter. Not between forward and backward.
  double evaluate(const Vector<const std::int32_t>& tokens, const Vector<const std::int32_t>& targets);

  /// Bytes held for activations and their gradients (not parameters, gradients or the bfloat16 copy).
  std::int64_t activation_bytes() const;
  /// Table of bytes by purpose.
  std::string memory_report() const;

 private:
  void check_batch(const Vector<const std::int32_t>& tokens, const Vector<const std::int32_t>& targets) const;

  LlamaShape shape_;
  LlamaOptions options_;
  ParameterRegistry registry_;
  Vector<S> parameters_;
  Vector<S> gradients_;
  std::unique_ptr<LlamaGraph<S>> graph_;
  bool backward_pending_ = false;
};

extern template class Llama<float>;
extern template class Llama<double>;

}  // namespace minigift
