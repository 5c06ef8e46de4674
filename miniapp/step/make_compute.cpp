#include "miniapp/step/make_compute.hpp"

#include "kernels/error.hpp"
#include "miniapp/step/model_compute.hpp"
#include "miniapp/step/synthetic_gradients.hpp"
#include "miniapp/step/trace_gradients.hpp"
#include "miniapp/train/deck_options.hpp"

#include <algorithm>

namespace minigift {
namespace {

std::unique_ptr<GradientSource> make_source(const Deck& deck, int rank, std::int64_t tokens_per_rank) {
  if (!deck.step.trace.empty()) return std::make_unique<TraceGradients>(deck.step.trace, rank);
  const ParameterRegistry registry(llama_shape(deck.model));
  return std::make_unique<SyntheticGradients>(
      registry,
      SyntheticGradientOptions{.spikes = deck.step.spikes,
                               .spike_strength = deck.step.spike_strength,
                               .tail_weight = deck.step.tail_weight,
                               .rank_correlation = deck.step.rank_correlation,
                               .tokens = tokens_per_rank,
                               .input_rows = deck.train.micro_batch * deck.train.sequence_length,
                               .seed = static_cast<std::uint64_t>(deck.train.seed)},
      rank);
}

/// What the deck gives, and the rest measured where the workload has such a phase.
ComputeSeconds wanted_lengths(const Deck& deck, Communicator& communicator, RegionTimer& timer) {
  const StepDeck& step = deck.step;
  const bool timed = step.compute == StepComputeChoice::timed;
  const bool full = step.workload == WorkloadChoice::full;
  const bool exchange = step.workload == WorkloadChoice::exchange;
  if (!timed) return {};
  const bool open =
      (full && (!step.forward_seconds || !step.optimizer_seconds)) || (!exchange && !step.backward_seconds);
  const ComputeSeconds measured = open ? measure_compute(deck, communicator, timer) : ComputeSeconds{};
  return {.forward = full || exchange ? step.forward_seconds.value_or(exchange ? 0 : measured.forward) : 0,
          .backward = step.backward_seconds.value_or(exchange ? 0 : measured.backward),
          .optimizer = full ? step.optimizer_seconds.value_or(measured.optimizer) : 0};
}

}  // namespace

std::unique_ptr<StepCompute> make_step_compute(const Deck& deck, Communicator& communicator,
                                               RegionTimer& timer) {
  const StepDeck& step = deck.step;
  const bool real = step.compute == StepComputeChoice::real;
  const bool exchange = step.workload == WorkloadChoice::exchange;
  communicator.together([&] {
    require_usage(step.trace.empty() || exchange || !real,
                  "step.trace = {}: the model computes its own gradients with step.compute = \"real\"; set "
                  "step.workload = \"exchange\" or step.compute = \"timed\"",
                  step.trace);
    const bool waits = step.forward_seconds || step.backward_seconds || step.optimizer_seconds;
    require_usage(
        !real || !waits,
        "step.forward_seconds, backward_seconds and optimizer_seconds belong to step.compute = \"timed\"");
    require_usage(step.workload == WorkloadChoice::full || !step.optimizer_seconds,
                  "step.optimizer_seconds: only step.workload = \"full\" has an optimizer");
    check_products_available(deck);
  });
  std::unique_ptr<StepCompute> compute;
  if (real && !exchange) {
    communicator.together([&] { compute = std::make_unique<ModelCompute>(deck, communicator); });
    return compute;
  }
  const ComputeSeconds seconds = wanted_lengths(deck, communicator, timer);
  const std::int64_t micro_batches =
      step.workload == WorkloadChoice::full
          ? deck.train.global_batch / (deck.train.micro_batch * communicator.size())
          : 1;
  const std::int64_t tokens_per_rank = micro_batches * deck.train.micro_batch * deck.train.sequence_length;
  communicator.together([&] {
    compute =
        std::make_unique<TimedCompute>(make_source(deck, communicator.rank(), tokens_per_rank), seconds,
                                       micro_batches, exchange ? 0 : tokens_per_rank * communicator.size());
  });
  return compute;
}

ComputeSeconds measure_compute(const Deck& deck, Communicator& communicator, RegionTimer& timer) {
  ComputeSeconds seconds;
  communicator.together([&] {
    if (communicator.rank() != 0) return;
    Deck alone = deck;
    alone.optimizer.muon_sharded = false;  // its weights would travel
    alone.step.workload = WorkloadChoice::full;
    ModelCompute model(alone, communicator);
    for (int repetition = 0; repetition < 2; ++repetition) {
      timer.reset();
      model.prepare(repetition, {});
      for (std::int64_t b = 0; b < model.micro_batches(); ++b) {
        model.forward(b, {});
        model.backward({});
      }
      model.update(1.0);
      seconds = {timer.exclusive_seconds("forward"), timer.exclusive_seconds("backward"),
                 timer.exclusive_seconds("optimizer")};
    }
  });
  return {communicator.max_over_ranks(seconds.forward), communicator.max_over_ranks(seconds.backward),
          communicator.max_over_ranks(seconds.optimizer)};
}

}  // namespace minigift
