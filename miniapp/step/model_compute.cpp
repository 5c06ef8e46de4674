#include "miniapp/step/model_compute.hpp"

#include "kernels/device/memory.hpp"
#include "miniapp/report/region_timer.hpp"
#include "miniapp/train/deck_options.hpp"

#include <fmt/format.h>

namespace minigift {
namespace {

/// The built-in synthetic text with the model's vocabulary.
DataDeck benchmark_text(const Deck& deck) {
  DataDeck data;
  data.source = DataSource::synthetic;
  data.synthetic_vocabulary = deck.model.vocabulary;
  data.synthetic_tokens = 40 * (deck.train.sequence_length + 1) + (std::int64_t{1} << 20);
  return data;
}

}  // namespace

ModelCompute::ModelCompute(const Deck& deck, Communicator& communicator)
    : deck_(deck),
      communicator_(communicator),
      source_(benchmark_text(deck), deck.model.vocabulary),
      sampler_(source_, deck.train.seed, deck.train.sequence_length, 1),
      model_(llama_shape(deck.model), llama_options(deck)) {
  const auto rows = static_cast<std::size_t>(deck.train.micro_batch * deck.train.sequence_length);
  host_tokens_ = HostVector<std::int32_t>("minigift::host_tokens", rows);
  host_targets_ = HostVector<std::int32_t>("minigift::host_targets", rows);
  tokens_ = Vector<std::int32_t>("minigift::tokens", rows);
  targets_ = Vector<std::int32_t>("minigift::targets", rows);
  model_.initialise(static_cast<std::uint64_t>(deck.train.seed));
  if (!full()) return;
  micro_batches_ = deck.train.global_batch / (deck.train.micro_batch * communicator.size());
  optimizer_ = std::make_unique<Optimizer>(deck.optimizer, model_.registry(), model_.parameters(),
                                           model_.gradients(), communicator);
}

std::int64_t ModelCompute::tokens() const {
  return micro_batches_ * communicator_.size() * size(tokens_);
}

void ModelCompute::load_tokens(std::int64_t micro_batch) {
  const std::int64_t first = (communicator_.rank() * micro_batches_ + micro_batch) * deck_.train.micro_batch;
  sampler_.train(iteration_, first, deck_.train.micro_batch, {host_tokens_.data(), host_tokens_.size()},
                 {host_targets_.data(), host_targets_.size()});
  copy(tokens_, host_tokens_);
  copy(targets_, host_targets_);
}

void ModelCompute::pass_forward(const InputHook<float>& inputs) {
  const ScopedRegion region("forward");
  model_.forward(tokens_, targets_, 1.0f / static_cast<float>(micro_batches_), inputs);
}

void ModelCompute::prepare(std::int64_t iteration, const InputHook<float>& inputs) {
  iteration_ = iteration;
  if (full()) return;
  load_tokens(0);
  model_.zero_gradients();
  pass_forward(inputs);
}

void ModelCompute::forward(std::int64_t micro_batch, const InputHook<float>& inputs) {
  if (!full()) return;
  if (micro_batch == 0) model_.zero_gradients();
  {
    const ScopedRegion region{std::string(untimed_region)};  // no data, no convergence
    load_tokens(micro_batch);
  }
  pass_forward(inputs);
}

void ModelCompute::backward(const GradientHook& ready) {
  const ScopedRegion region("backward");
  model_.backward(ready);
}

void ModelCompute::update(double gradient_factor) {
  if (!full()) return;
  const ScopedRegion region("optimizer");
  optimizer_->step(0.0, gradient_factor);
  model_.parameters_changed();
}

std::string ModelCompute::description() const {
  if (full()) {
    return fmt::format(
        "the model's own, {} micro-batch{} per rank; learning rate 0, so that all methods meet "
        "the same gradients",
        micro_batches_, micro_batches_ == 1 ? "" : "es");
  }
  return "the model's backward pass from stored activations of one micro-batch per rank; forward is not "
         "timed";
}

}  // namespace minigift
