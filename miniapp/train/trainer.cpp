#include "miniapp/train/trainer.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "miniapp/train/schedule.hpp"

#include <fmt/format.h>

#include <cmath>

namespace minigift {

Trainer::Trainer(const Deck& deck, const MethodDeck& method, const TokenSource& source,
                 Communicator& communicator, RegionTimer* timer)
    : deck_(deck),
      communicator_(communicator),
      timer_(timer),
      sampler_(source, deck.train.seed, deck.train.sequence_length, deck.train.validation_sequences),
      model_(llama_shape(deck.model), llama_options(deck)),
      exchange_(std::make_unique<CodecExchange>(resolve_method(method, deck.exchange, communicator.size()),
                                                model_.registry(), model_.gradients(), communicator,
                                                exchange_options(deck))),
      optimizer_(deck.optimizer, model_.registry(), model_.parameters(), model_.gradients(), communicator),
      check_(model_.registry(), model_.gradients(), communicator) {
  const auto rows = static_cast<std::size_t>(deck.train.micro_batch * deck.train.sequence_length);
  host_tokens_ = HostVector<std::int32_t>("minigift::host_tokens", rows);
  host_targets_ = HostVector<std::int32_t>("minigift::host_targets", rows);
  tokens_ = Vector<std::int32_t>("minigift::tokens", rows);
  targets_ = Vector<std::int32_t>("minigift::targets", rows);
  const auto see_input = [this](int site, const auto& x) {
    if (exchange_->observes_inputs()) exchange_->observe_input(site, x);
    if (!observing_inputs_) return;
    const ScopedRegion region{std::string(untimed_region)};
    observer_->observe_input(site, x);
  };
  const auto see_output = [this](int parameter, const auto& dy) {
    const ScopedRegion region{std::string(untimed_region)};
    observer_->observe_output(parameter, dy);
  };
  input_hook_ = {see_input, see_input};
  output_hook_ = {see_output, see_output};
  model_.initialise(static_cast<std::uint64_t>(deck.train.seed));
}

std::int64_t Trainer::micro_batches(std::int64_t global_batch) const {
  return global_batch / (deck_.train.micro_batch * communicator_.size());
}

void Trainer::load_micro_batch(std::int64_t index) {
  const std::int64_t per_rank = micro_batches_ * deck_.train.micro_batch;
  const std::int64_t first = communicator_.rank() * per_rank + index * deck_.train.micro_batch;
  sampler_.train(step_, first, deck_.train.micro_batch, {host_tokens_.data(), host_tokens_.size()},
                 {host_targets_.data(), host_targets_.size()});
  copy(tokens_, host_tokens_);
  copy(targets_, host_targets_);
}

double Trainer::accumulate_gradients(bool check, bool observed) {
  const GradientHook ready = [this, check, observed](int tensor) {
    if (check) check_.capture(tensor);
    if (observed) {
      const ScopedRegion region{std::string(untimed_region)};
      observer_->gradient_ready(tensor);
    }
    exchange_->ready(tensor);
  };
  observing_inputs_ = observed && observer_->observes_inputs();
  const bool inputs = observing_inputs_ || exchange_->observes_inputs();
  const bool outputs = observed && observer_->observes_outputs();
  const auto scale = 1.0f / static_cast<float>(micro_batches_);
  double loss = 0.0;
  for (std::int64_t m = 0; m < micro_batches_; ++m) {
    load_micro_batch(m);
    {
      const ScopedRegion region("forward");
      loss += model_.forward(tokens_, targets_, scale, inputs ? input_hook_ : InputHook<float>{});
    }
    const bool last = m + 1 == micro_batches_;
    if (last) exchange_->begin_backward();
    const ScopedRegion region("backward");
    model_.backward(last ? ready : GradientHook{}, outputs ? output_hook_ : OutputHook<float>{});
  }
  return loss / static_cast<double>(micro_batches_);
}

StepRow Trainer::step() {
  ++step_;
  const auto every = deck_.train.check_every;
  const bool check = every > 0 && (step_ % every == 0 || step_ == 1);
  if (timer_ != nullptr) timer_->reset();
  const TransportCounters before = communicator_.counters();
  const bool observed = observer_ != nullptr && observer_->begin_step(step_);
  const std::int64_t planned = deck_.train.global_batch;
  micro_batches_ = micro_batches(observed ? observer_->global_batch(step_, planned) : planned);

  exchange_->begin_step(step_ - 1);
  model_.zero_gradients();
  const double loss = accumulate_gradients(check, observed);
  const ExchangeResult result = exchange_->finish();

  StepRow row;
  row.method = method_name();
  row.step = step_;
  row.learning_rate = learning_rate(deck_.train, step_);
  row.skipped = result.skipped;
  if (result.skipped) {
    skipped_.push_back(fmt::format("step {}: not finite: {}", step_, result.reason));
  } else {
    const ScopedRegion region("optimizer");
    row.gradient_norm = result.gradient_norm;
    const double clip = deck_.train.clip_norm;
    const double factor = clip > 0.0 && row.gradient_norm > clip ? clip / row.gradient_norm : 1.0;
    optimizer_.step(row.learning_rate, factor);
    model_.parameters_changed();
  }
  collect_times(row, before);

  row.train_loss = communicator_.sum_over_ranks(loss) / communicator_.size();
  row.payload_bytes = exchange_->payload_bytes();
  const auto elements = static_cast<double>(communicator_.sum_over_ranks(result.counters.elements));
  if (elements > 0.0 && has_scale(exchange_->method().format)) {
    row.saturated_fraction =
        static_cast<double>(communicator_.sum_over_ranks(result.counters.saturated)) / elements;
    row.flushed_fraction =
        static_cast<double>(communicator_.sum_over_ranks(result.counters.flushed)) / elements;
  }
  row.fallback_tensors = result.fallback_tensors;
  row.selected_tensors = result.selected_tensors;
  if (check && !result.skipped) {
    const ExchangeError error = check_.compare();
    row.relative_l2_error = error.relative_l2;
    row.cosine = error.cosine;
  }
  if (observed) {
    observer_->end_step({.step = step_,
                         .learning_rate = row.learning_rate,
                         .local_loss = loss,
                         .micro_batches = micro_batches_,
                         .tokens = micro_batches_ * size(tokens_)});
  }
  check_replicas(check || step_ == deck_.train.steps);
  return row;
}

void Trainer::collect_times(StepRow& row, const TransportCounters& before) {
  const TransportCounters used = communicator_.counters() - before;
  row.wire_bytes = communicator_.max_over_ranks(used.payload.bytes_sent + used.metadata.bytes_sent);
  row.staged_bytes = communicator_.max_over_ranks(used.device_to_host_bytes + used.host_to_device_bytes);
  const bool planned = used.payload.bytes_sent == exchange_->plan().payload_wire_bytes();
  if (communicator_.min_over_ranks(std::int64_t{planned}) == 0) wire_as_planned_ = false;
  if (timer_ == nullptr) return;
  const PhaseSeconds phases = timer_->phase_seconds();
  for (std::size_t i = 0; i < phase_count; ++i)
    row.phases[i] = communicator_.max_over_ranks(phases[i]);
  row.step_seconds = communicator_.max_over_ranks(timer_->step_seconds());
  row.tokens_per_second =
      static_cast<double>(communicator_.size() * micro_batches_ * size(tokens_)) / row.step_seconds;
}

void Trainer::check_replicas(bool measure) {
  const ReplicaState state = compare_replicas(model_.parameters(), communicator_);
  if (!state.identical) replicas_identical_ = false;
  if (measure && !state.identical)
    divergence_ = minigift::replica_divergence(model_.parameters(), communicator_);
  require(state.identical || exchange_->method().allow_divergence || !deck_.train.abort_on_divergence,
          "method {}, step {}: the ranks' parameters differ, which this method must not allow; set "
          "train.abort_on_divergence = false to go on",
          method_name(), step_);
}

double Trainer::validate() {
  const std::int64_t batches = deck_.train.validation_sequences / deck_.train.micro_batch;
  double sum = 0.0;
  for (std::int64_t b = communicator_.rank(); b < batches; b += communicator_.size()) {
    sampler_.validation(b * deck_.train.micro_batch, deck_.train.micro_batch,
                        {host_tokens_.data(), host_tokens_.size()},
                        {host_targets_.data(), host_targets_.size()});
    copy(tokens_, host_tokens_);
    copy(targets_, host_targets_);
    sum += model_.evaluate(tokens_, targets_);
  }
  return communicator_.sum_over_ranks(sum) / static_cast<double>(batches);
}

}  // namespace minigift
