#include "miniapp/model/graph.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/nn/embedding.hpp"
#include "kernels/nn/rms_norm.hpp"
#include "kernels/slice.hpp"
#include "miniapp/model/head.hpp"

namespace minigift {

namespace {

template <class S>
Matrix<S> tensor(const Vector<S>& flat, const Parameter& parameter, std::int64_t flat_begin = 0) {
  return slice(flat, parameter.offset - flat_begin, parameter.rows, parameter.columns);
}

template <class S, class In>
class Graph final : public LlamaGraph<S> {
 public:
  Graph(const LlamaShape& shape, const LlamaOptions& options, const ParameterRegistry& registry,
        const Vector<S>& parameters, const Vector<S>& gradients)
      : context_{shape, options.B, options.T,
                 make_rope_table<S>(options.T, shape.head_width(), shape.rope_theta)},
        registry_(registry),
        products_(options.compute == Compute::tf32 ? Fp32Products::tf32 : Fp32Products::ieee),
        workspace_(shape, options.B, options.T, options.logits_bytes) {
    const ScopedFp32Products available(products_);  // throws here rather than in the first pass
    bind_parameters(parameters, gradients);
    const std::int64_t sets = options.recompute ? 1 : shape.layers;
    for (std::int64_t set = 0; set < sets; ++set)
      activations_.emplace_back(shape, options.B, options.T);
    const auto rows = static_cast<std::size_t>(options.B * options.T);
    for (std::int64_t layer = 0; layer <= shape.layers; ++layer)
      stream_.emplace_back("stream", rows, static_cast<std::size_t>(shape.hidden));
  }

  void parameters_changed() override {
    if constexpr (!std::is_same_v<S, In>) convert_to_bfloat16(operand_source_, operand_weights_);
  }

  double forward(const Vector<const std::int32_t>& tokens, const Vector<const std::int32_t>& targets,
                 S gradient_scale, const InputHook<S>& input_hook) override {
    const ScopedFp32Products products(products_);
    tokens_ = tokens;
    trunk_forward(tokens, input_hook);
    return head_forward_backward<S, In>(head_weight_, targets, gradient_scale, workspace_, d_head_weight_);
  }

  double evaluate(const Vector<const std::int32_t>& tokens,
                  const Vector<const std::int32_t>& targets) override {
    const ScopedFp32Products products(products_);
    trunk_forward(tokens, {});
    return head_loss<S, In>(head_weight_, targets, workspace_);
  }

  void backward(const BackwardHooks<S>& hooks) override {
    const ScopedFp32Products products(products_);
    const GradientHook& hook = hooks.gradient;
    if (hook) hook(registry_.head());
    fill(workspace_.d_stream, S(0));
    rms_norm_backward(stream_.back(), final_norm_, workspace_.head_inverse_rms, workspace_.branch,
                      workspace_.d_stream, d_final_norm_);
    if (hook) hook(registry_.final_norm());
    const std::int64_t L = context_.shape.layers;
    for (std::int64_t layer = L - 1; layer >= 0; --layer) {
      // A single set of activations still holds the last layer's when backward begins.
      if (activations_.size() == 1 && layer != L - 1)
        layer_forward<S, In>(context_, layer, LayerExtent::activations_only, weights(layer), input(layer),
                             activations(layer), workspace_, input_after(layer), {});
      layer_backward<S, In>(context_, layer, weights(layer), gradients_[static_cast<std::size_t>(layer)],
                            input(layer), activations(layer), workspace_, hooks);
    }
    embedding_backward(tokens_, workspace_.d_stream, d_embedding_);
    if (hook) hook(registry_.embedding());
  }

  GraphMemory memory() const override {
    std::int64_t layer_activations = 0;
    for (const auto& set : activations_)
      layer_activations += set.bytes();
    return {.operand_weights = size(operand_weights_) * static_cast<std::int64_t>(sizeof(In)),
            .layer_inputs = static_cast<std::int64_t>(stream_.size()) * size(stream_[0]) *
                            static_cast<std::int64_t>(sizeof(S)),
            .layer_activations = layer_activations,
            .workspace = workspace_.bytes(),
            .activation_sets = static_cast<int>(activations_.size())};
  }

 private:
  /// Embedding, layers, final norm: tokens -> workspace.head_input.
  void trunk_forward(const Vector<const std::int32_t>& tokens, const InputHook<S>& input_hook) {
    embedding_forward(tokens, embedding_, stream_[0]);
    for (std::int64_t layer = 0; layer < context_.shape.layers; ++layer)
      layer_forward<S, In>(context_, layer, LayerExtent::whole, weights(layer), input(layer),
                           activations(layer), workspace_, input_after(layer), input_hook);
    rms_norm_forward(stream_.back(), final_norm_, static_cast<S>(context_.shape.rms_epsilon),
                     workspace_.head_input, workspace_.head_inverse_rms);
    report_operand<S, In>(input_hook, registry_[registry_.head()].input_site, workspace_.head_input);
  }

  void bind_parameters(const Vector<S>& parameters, const Vector<S>& gradients) {
    embedding_ = tensor(parameters, registry_[registry_.embedding()]);
    d_embedding_ = tensor(gradients, registry_[registry_.embedding()]);
    final_norm_ = flatten(tensor(parameters, registry_[registry_.final_norm()]));
    d_final_norm_ = flatten(tensor(gradients, registry_[registry_.final_norm()]));
    d_head_weight_ = tensor(gradients, registry_[registry_.head()]);

    // Operands: the parameters themselves, or a bfloat16 copy of all of them behind the embedding, which is
    // looked up and never multiplied.
    Vector<In> operands;
    std::int64_t operands_begin = 0;
    if constexpr (std::is_same_v<S, In>) {
      operands = parameters;
    } else {
      operands_begin = registry_[1].offset;
      operand_source_ = slice(parameters, operands_begin, size(parameters) - operands_begin);
      operand_weights_ = Vector<In>("operand_weights", operand_source_.size());
      operands = operand_weights_;
    }
    const auto operand = [&](int index) { return tensor(operands, registry_[index], operands_begin); };
    head_weight_ = operand(registry_.head());
    for (std::int64_t layer = 0; layer < context_.shape.layers; ++layer) {
      const auto index = [layer](LayerParameter which) { return ParameterRegistry::index(layer, which); };
      const auto norm = [&](LayerParameter which) {
        return flatten(tensor(parameters, registry_[index(which)]));
      };
      const auto d = [&](LayerParameter which) { return tensor(gradients, registry_[index(which)]); };
      weights_.push_back({.input_norm = norm(input_norm),
                          .post_attention_norm = norm(post_attention_norm),
                          .q = operand(index(q_proj)),
                          .k = operand(index(k_proj)),
                          .v = operand(index(v_proj)),
                          .o = operand(index(o_proj)),
                          .gate = operand(index(gate_proj)),
                          .up = operand(index(up_proj)),
                          .down = operand(index(down_proj))});
      gradients_.push_back({.input_norm = flatten(d(input_norm)),
                            .post_attention_norm = flatten(d(post_attention_norm)),
                            .q = d(q_proj),
                            .k = d(k_proj),
                            .v = d(v_proj),
                            .o = d(o_proj),
                            .gate = d(gate_proj),
                            .up = d(up_proj),
                            .down = d(down_proj)});
    }
  }

  const LayerWeights<S, In>& weights(std::int64_t layer) const {
    return weights_[static_cast<std::size_t>(layer)];
  }
  const LayerActivations<S, In>& activations(std::int64_t layer) const {
    return activations_.size() == 1 ? activations_[0] : activations_[static_cast<std::size_t>(layer)];
  }
  const Matrix<S>& input(std::int64_t layer) const { return stream_[static_cast<std::size_t>(layer)]; }
  const Matrix<S>& input_after(std::int64_t layer) const {
    return stream_[static_cast<std::size_t>(layer) + 1];
  }

  LayerContext<S> context_;
  ParameterRegistry registry_;
  Fp32Products products_;
  Workspace<S, In> workspace_;
  std::vector<LayerActivations<S, In>> activations_;
  std::vector<Matrix<S>> stream_;  // (R,C) input of each layer, then of the final norm

  Matrix<const S> embedding_;
  Vector<const S> final_norm_;
  Matrix<const In> head_weight_;
  std::vector<LayerWeights<S, In>> weights_;
  Vector<const S> operand_source_;  // what operand_weights_ copies
  Vector<In> operand_weights_;

  Matrix<S> d_embedding_;
  Vector<S> d_final_norm_;
  Matrix<S> d_head_weight_;
  std::vector<LayerGradients<S>> gradients_;

  Vector<const std::int32_t> tokens_;  // of the pass that awaits backward
};

}  // namespace

template <class S>
std::unique_ptr<LlamaGraph<S>> make_graph(const LlamaShape& shape, const LlamaOptions& options,
                                          const ParameterRegistry& registry, const Vector<S>& parameters,
                                          const Vector<S>& gradients) {
  if (options.compute != Compute::bf16)
    return std::make_unique<Graph<S, S>>(shape, options, registry, parameters, gradients);
  if constexpr (std::is_same_v<S, float>)
    return std::make_unique<Graph<float, bfloat16>>(shape, options, registry, parameters, gradients);
  throw UsageError("bf16 compute needs a model in single precision");
}

template std::unique_ptr<LlamaGraph<float>> make_graph(const LlamaShape&, const LlamaOptions&,
                                                       const ParameterRegistry&, const Vector<float>&,
                                                       const Vector<float>&);
template std::unique_ptr<LlamaGraph<double>> make_graph(const LlamaShape&, const LlamaOptions&,
                                                        const ParameterRegistry&, const Vector<double>&,
                                                        const Vector<double>&);

}  // namespace minigift
