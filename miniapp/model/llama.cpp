#include "miniapp/model/llama.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/slice.hpp"
#include "miniapp/model/graph.hpp"
#include "miniapp/model/initialise.hpp"

#include <utility>

namespace minigift {

namespace {

void check(const LlamaOptions& options) {
  require_usage(options.B > 0, "micro-batch of {} sequences: must be at least 1", options.B);
  require_usage(options.T > 0, "sequence length {}: must be at least 1", options.T);
  require_usage(options.logits_bytes > 0, "{} bytes for logits: must be positive", options.logits_bytes);
}

double mebibytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

}  // namespace

template <class S>
Llama<S>::Llama(const LlamaShape& shape, const LlamaOptions& options)
    : shape_(shape), options_(options), registry_(shape) {
  check(options);
  const auto elements = static_cast<std::size_t>(registry_.flat_size());
  parameters_ = Vector<S>("parameters", elements);
  gradients_ = Vector<S>("gradients", elements);
  graph_ = make_graph<S>(shape_, options_, registry_, parameters_, gradients_);
}

template <class S>
Llama<S>::~Llama() = default;
template <class S>
Llama<S>::Llama(Llama&&) noexcept = default;
template <class S>
Llama<S>& Llama<S>::operator=(Llama&&) noexcept = default;

template <class S>
Matrix<S> Llama<S>::parameter(int index) const {
  const Parameter& p = registry_[index];
  return slice(parameters_, p.offset, p.rows, p.columns);
}

template <class S>
Matrix<S> Llama<S>::gradient(int index) const {
  const Parameter& p = registry_[index];
  return slice(gradients_, p.offset, p.rows, p.columns);
}

template <class S>
void Llama<S>::initialise(std::uint64_t seed) {
  initialise_parameters(shape_, registry_, seed, parameters_);
  parameters_changed();
}

template <class S>
void Llama<S>::parameters_changed() {
  graph_->parameters_changed();
}

template <class S>
void Llama<S>::zero_gradients() {
  fill(gradients_, S(0));
}

template <class S>
void Llama<S>::check_batch(const Vector<const std::int32_t>& tokens,
                           const Vector<const std::int32_t>& targets) const {
  require(!backward_pending_, "a forward pass still awaits its backward pass");
  const std::int64_t R = options_.B * options_.T;
  require(size(tokens) == R && size(targets) == R,
          "a micro-batch of {} x {} tokens was expected, {} tokens and {} targets were given", options_.B,
          options_.T, size(tokens), size(targets));
}

template <class S>
double Llama<S>::forward(const Vector<const std::int32_t>& tokens, const Vector<const std::int32_t>& targets,
                         S gradient_scale, const InputHook<S>& input_hook) {
  check_batch(tokens, targets);
  const double loss = graph_->forward(tokens, targets, gradient_scale, input_hook);
  backward_pending_ = true;
  return loss;
}

template <class S>
void Llama<S>::backward(const GradientHook& gradient_hook, const OutputHook<S>& output_hook) {
  require(backward_pending_, "backward needs a forward pass before it");
  backward_pending_ = false;
  graph_->backward({gradient_hook, output_hook});
}

template <class S>
double Llama<S>::evaluate(const Vector<const std::int32_t>& tokens,
                          const Vector<const std::int32_t>& targets) {
  check_batch(tokens, targets);
  return graph_->evaluate(tokens, targets);
}

template <class S>
std::int64_t Llama<S>::activation_bytes() const {
  const GraphMemory memory = graph_->memory();
  return memory.layer_inputs + memory.layer_activations + memory.workspace;
}

template <class S>
std::string Llama<S>::memory_report() const {
  const GraphMemory memory = graph_->memory();
  const std::int64_t flat = registry_.flat_size() * static_cast<std::int64_t>(sizeof(S));
  const std::pair<std::string, std::int64_t> lines[] = {
      {"parameters", flat},
      {"gradients", flat},
      {"bfloat16 copy of the weights", memory.operand_weights},
      {"layer inputs", memory.layer_inputs},
      {fmt::format("layer activations ({} of {} layers held)", memory.activation_sets, shape_.layers),
       memory.layer_activations},
      {"shared scratch and logits", memory.workspace}};
  std::string text;
  std::int64_t total = 0;
  for (const auto& [purpose, bytes] : lines) {
    text += fmt::format("{:<48} {:>12.1f} MiB\n", purpose, mebibytes(bytes));
    total += bytes;
  }
  return text + fmt::format("{:<48} {:>12.1f} MiB\n", "model, total", mebibytes(total));
}

template class Llama<float>;
template class Llama<double>;

}  // namespace minigift
