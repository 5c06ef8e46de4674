#pragma once
// [exchange]: which methods are run, and what all of them share.

#include "miniapp/deck/key.hpp"

namespace minigift {

enum class TransportChoice { automatic, host, direct, nccl };
constexpr std::array<std::string_view, 4> names_of(TransportChoice) {
  return {"automatic", "host", "direct", "nccl"};
}

struct ExchangeDeck {
  std::vector<std::string> methods = {"fp32", "bf16", "euclidean", "gift"};
  double bucket_megabytes = 25.0;
  bool overlap = false;
  TransportChoice transport = TransportChoice::automatic;
  std::int64_t ranks_per_node = 0;
  std::int64_t refresh_period = 10;
  std::int64_t sketch_window = 1;
  std::int64_t oversample = 8;
  double guard = 0.95;
  std::int64_t max_message_bytes = 1073741824;
  double watchdog_seconds = 300;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.methods,
          Key{.name = "methods",
              .help = "methods to run, in this order; each is built in or an [exchange.NAME] table"});
    visit(self.bucket_megabytes, Key{.name = "bucket_megabytes",
                                     .unit = "MB",
                                     .help = "FP32 gradient that is sent together; 10^6 bytes",
                                     .minimum = 0,
                                     .above_minimum = true});
    visit(self.overlap,
          Key{.name = "overlap",
              .help = "send a full bucket while the backward pass goes on; same bits either way"});
    visit(self.transport,
          Key{.name = "transport",
              .help = "how gradients in GPU memory travel: by NCCL, by an MPI library that takes GPU memory "
                      "(direct), or through host memory; automatic takes the first of these that is possible "
                      "and prints it. A host build has host memory only"});
    visit(self.ranks_per_node,
          Key{.name = "ranks_per_node",
              .unit = "ranks",
              .help = "ranks that count as one node, to try several nodes on one machine; 0: as they share "
                      "memory",
              .minimum = 0,
              .maximum = 2147483647});
    visit(self.refresh_period, Key{.name = "refresh_period",
                                   .unit = "steps",
                                   .help = "steps between two factors of the input second moment",
                                   .minimum = 1});
    visit(self.sketch_window, Key{.name = "sketch_window",
                                  .unit = "steps",
                                  .help = "steps whose activations are sketched before a refresh",
                                  .minimum = 1});
    visit(self.oversample, Key{.name = "oversample",
                               .unit = "columns",
                               .help = "columns of the sketch beyond the rank",
                               .minimum = 0});
    visit(self.guard,
          Key{.name = "guard",
              .help = "a layer whose predicted error ratio gamma is above this falls back to euclidean "
                      "until the next refresh, counted and shown",
              .minimum = 0,
              .above_minimum = true});
    visit(self.max_message_bytes, Key{.name = "max_message_bytes",
                                      .unit = "B",
                                      .help = "longer messages are sent in pieces",
                                      .minimum = 16,
                                      .maximum = 2147483647});
    visit(self.watchdog_seconds, Key{.name = "watchdog_seconds",
                                     .unit = "s",
                                     .help = "a collective that takes longer ends the run and is named",
                                     .minimum = 0,
                                     .above_minimum = true});
  }
};

}  // namespace minigift
