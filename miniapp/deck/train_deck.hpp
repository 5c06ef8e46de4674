#pragma once
// [train]: how much is trained, in which batches, and when something is measured.

#include "miniapp/deck/key.hpp"

namespace minigift {

enum class ComputeChoice { fp32, tf32, bf16 };
constexpr std::array<std::string_view, 3> names_of(ComputeChoice) {
  return {"fp32", "tf32", "bf16"};
}

enum class ScheduleChoice { constant, cosine };
constexpr std::array<std::string_view, 2> names_of(ScheduleChoice) {
  return {"constant", "cosine"};
}

struct TrainDeck {
  std::int64_t steps = 100;
  double time_limit_seconds = 0;
  std::int64_t sequence_length = 128;  // T
  std::int64_t global_batch = 8;
  std::int64_t micro_batch = 4;  // B
  std::int64_t seed = 1;
  ComputeChoice compute = ComputeChoice::fp32;
  double learning_rate = 5e-4;
  double minimum_learning_rate = 5e-5;
  std::int64_t warmup_steps = 10;
  ScheduleChoice schedule = ScheduleChoice::cosine;
  double clip_norm = 1.0;
  std::int64_t validation_every = 25;
  std::int64_t validation_sequences = 16;
  std::int64_t check_every = 25;
  std::int64_t print_every = 1;
  bool abort_on_divergence = true;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.steps, Key{.name = "steps", .help = "optimizer steps per method", .minimum = 1});
    visit(self.time_limit_seconds, Key{.name = "time_limit_seconds",
                                       .unit = "s",
                                       .help = "stop a method's training after this time; 0 sets no limit",
                                       .minimum = 0});
    visit(self.sequence_length, Key{.name = "sequence_length",
                                    .unit = "tokens",
                                    .help = "tokens T per sequence",
                                    .minimum = 1,
                                    .maximum = 1048576});
    visit(self.global_batch,
          Key{.name = "global_batch",
              .unit = "sequences",
              .help = "sequences per optimizer step over all ranks; a multiple of micro_batch "
                      "times the number of ranks",
              .minimum = 1});
    visit(self.micro_batch, Key{.name = "micro_batch",
                                .unit = "sequences",
                                .help = "sequences B per rank in one forward and backward pass",
                                .minimum = 1});
    visit(self.seed, Key{.name = "seed", .help = "seed of weights and data order", .minimum = 0});
    visit(self.compute,
          Key{.name = "compute",
              .help = "operands of the matrix products; sums and weights stay in FP32. tf32 needs a GPU"});
    visit(self.learning_rate,
          Key{.name = "learning_rate", .help = "learning rate after the warm-up", .minimum = 0});
    visit(self.minimum_learning_rate, Key{.name = "minimum_learning_rate",
                                          .help = "learning rate at the last step of the cosine schedule",
                                          .minimum = 0});
    visit(self.warmup_steps, Key{.name = "warmup_steps",
                                 .unit = "steps",
                                 .help = "steps of linear rise from 0 to learning_rate",
                                 .minimum = 0});
    visit(self.schedule, Key{.name = "schedule", .help = "learning rate after the warm-up"});
    visit(self.clip_norm,
          Key{.name = "clip_norm",
              .help = "largest global gradient norm handed to the optimizer; 0 turns clipping off",
              .minimum = 0});
    visit(self.validation_every,
          Key{.name = "validation_every",
              .unit = "steps",
              .help = "steps between validations; 0 validates after the last step only",
              .minimum = 0});
    visit(self.validation_sequences, Key{.name = "validation_sequences",
                                         .unit = "sequences",
                                         .help = "held-out sequences of one validation, over all ranks",
                                         .minimum = 1});
    visit(self.check_every,
          Key{.name = "check_every",
              .unit = "steps",
              .help = "steps between comparisons of the exchanged gradient with an FP64 sum of the "
                      "same local gradients, outside the timed phases; 0 never compares",
              .minimum = 0});
    visit(self.print_every,
          Key{.name = "print_every", .unit = "steps", .help = "steps between printed lines", .minimum = 1});
    visit(self.abort_on_divergence,
          Key{.name = "abort_on_divergence",
              .help = "stop when the ranks' parameters differ, unless the method has allow_divergence"});
  }
};

}  // namespace minigift
