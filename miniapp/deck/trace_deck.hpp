#pragma once
// [trace]: which gradients and moments a training writes to an HDF5 file.

#include "miniapp/deck/key.hpp"

namespace minigift {

enum class TraceChoice { gradient, input_moment, output_moment, sketch };
constexpr std::array<std::string_view, 4> names_of(TraceChoice) {
  return {"gradient", "input-moment", "output-moment", "sketch"};
}

struct TraceDeck {
  std::string file;
  std::string method;
  std::vector<std::int64_t> steps;
  std::vector<std::string> tensors = {"all"};
  std::vector<TraceChoice> content = {TraceChoice::gradient, TraceChoice::input_moment,
                                      TraceChoice::output_moment};
  std::int64_t ranks = 0;
  std::int64_t global_batch = 0;
  std::int64_t sketch_columns = 40;
  std::int64_t deflate = 0;
  bool shuffle = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.file, Key{.name = "file", .help = "new HDF5 file; empty writes no trace"});
    visit(self.method,
          Key{.name = "method",
              .help = "method whose training is traced; empty is the first of exchange.methods"});
    visit(self.steps,
          Key{.name = "steps", .help = "steps that are written; empty is the last", .minimum = 1});
    visit(self.tensors, Key{.name = "tensors",
                            .help = "tensors that are written: \"mlp\", \"attention\", \"all\" matrices of "
                                    "the decoder layers, or patterns with *"});
    visit(self.content,
          Key{.name = "content",
              .help =
                  "what is written of each: its local gradient, A = E[x x^T] of its inputs, G = E[d d^T] of "
                  "its output gradients, or a sketch of A"});
    visit(self.ranks, Key{.name = "ranks",
                          .unit = "ranks",
                          .help = "only the first so many ranks are written; 0 is all",
                          .minimum = 0});
    visit(self.global_batch,
          Key{.name = "global_batch",
              .unit = "sequences",
              .help = "global batch of the traced steps, which take more micro-batches then; 0 takes "
                      "train.global_batch",
              .minimum = 0});
    visit(self.sketch_columns, Key{.name = "sketch_columns",
                                   .unit = "columns",
                                   .help = "columns of the sketch: a rank of at most 8 less is safe",
                                   .minimum = 1});
    visit(
        self.deflate,
        Key{.name = "deflate", .help = "compression level; 0 does not compress", .minimum = 0, .maximum = 9});
    visit(self.shuffle, Key{.name = "shuffle", .help = "group bytes by significance before compressing"});
  }
};

}  // namespace minigift
