#pragma once
// [step]: the transformer step as a benchmark.

#include "miniapp/deck/key.hpp"

namespace minigift {

/// What one iteration contains.
enum class WorkloadChoice { full, backward, exchange };
constexpr std::array<std::string_view, 3> names_of(WorkloadChoice) {
  return {"full", "backward", "exchange"};
}

enum class StepComputeChoice { real, timed };
constexpr std::array<std::string_view, 2> names_of(StepComputeChoice) {
  return {"real", "timed"};
}

struct StepDeck {
  WorkloadChoice workload = WorkloadChoice::full;
  StepComputeChoice compute = StepComputeChoice::real;
  std::int64_t batch_per_rank = 0;
  std::int64_t warmup = 3;
  std::int64_t iterations = 20;
  double time_limit_seconds = 0;
  std::int64_t check_every = 5;
  std::int64_t print_every = 1;
  std::optional<double> forward_seconds;
  std::optional<double> backward_seconds;
  std::optional<double> optimizer_seconds;
  std::string trace;
  std::int64_t spikes = 12;
  double spike_strength = 300;
  double tail_weight = 0;
  double rank_correlation = 0.5;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.workload,
          Key{.name = "workload",
              .help = "full: forward, backward, exchange, optimizer; backward: backward and exchange from "
                      "stored activations; exchange: gradients only, synthetic or from step.trace"});
    visit(
        self.compute,
        Key{.name = "compute",
            .help = "real: the model computes; timed: it waits as long as forward_seconds, backward_seconds "
                    "and optimizer_seconds say, so that ranks and sizes can be studied that this machine "
                    "could not compute"});
    visit(self.batch_per_rank,
          Key{.name = "batch_per_rank",
              .unit = "sequences",
              .help = "weak scaling: sequences per rank, whatever the number of ranks; 0 is strong scaling: "
                      "train.global_batch is divided over the ranks",
              .minimum = 0});
    visit(self.warmup, Key{.name = "warmup",
                           .unit = "iterations",
                           .help = "iterations of each method that count for nothing; the first of them "
                                   "connects and allocates",
                           .minimum = 1});
    visit(self.iterations,
          Key{.name = "iterations", .help = "measured iterations of each method", .minimum = 1});
    visit(self.time_limit_seconds,
          Key{.name = "time_limit_seconds",
              .unit = "s",
              .help = "stop after the round of all methods in which this time is reached; 0 sets no limit",
              .minimum = 0});
    visit(
        self.check_every,
        Key{.name = "check_every",
            .unit = "iterations",
            .help = "iterations between comparisons of the exchanged gradient with an FP64 sum, outside the "
                    "timed phases; checksums are compared in every iteration. 0 never compares",
            .minimum = 0});
    visit(self.print_every, Key{.name = "print_every",
                                .unit = "iterations",
                                .help = "rounds between printed lines",
                                .minimum = 1});
    visit(self.forward_seconds,
          Key{.name = "forward_seconds",
              .unit = "s",
              .help = "compute = \"timed\": length of the forward passes of one step on one rank",
              .minimum = 0,
              .when_unset = "measured on rank 0 alone before the benchmark; 0 for workload = \"exchange\""});
    visit(self.backward_seconds,
          Key{.name = "backward_seconds",
              .unit = "s",
              .help = "compute = \"timed\": length of the backward passes of one step on one rank",
              .minimum = 0,
              .when_unset = "measured on rank 0 alone before the benchmark; 0 for workload = \"exchange\""});
    visit(self.optimizer_seconds,
          Key{.name = "optimizer_seconds",
              .unit = "s",
              .help = "compute = \"timed\": length of the optimizer's update",
              .minimum = 0,
              .when_unset = "measured on rank 0 alone before the benchmark; 0 without workload = \"full\""});
    visit(self.trace,
          Key{.name = "trace",
              .help = "HDF5 trace whose gradients are replayed, where no model computes them: rank r takes "
                      "recorded rank r mod R, iterations go through its steps; empty: synthetic gradients"});
    visit(self.spikes, Key{.name = "spikes",
                           .help = "synthetic gradients: large eigenvalues of an input's second moment",
                           .minimum = 0,
                           .maximum = 256});
    visit(self.spike_strength,
          Key{.name = "spike_strength",
              .help = "synthetic gradients: eigenvalue i is 1 + spike_strength / i, i = 1 ... spikes, the "
                      "others are 1",
              .minimum = 0});
    visit(self.tail_weight,
          Key{.name = "tail_weight",
              .help = "synthetic gradients: standard deviation of the logarithm of an element's magnitude; 0 "
                      "is Gaussian, kurtosis is 3 exp(4 tail_weight^2)",
              .minimum = 0,
              .maximum = 2});
    visit(self.rank_correlation, Key{.name = "rank_correlation",
                                     .help = "synthetic gradients: correlation between two ranks",
                                     .minimum = 0,
                                     .maximum = 1});
  }
};

}  // namespace minigift
