#pragma once
// [data]: where the tokens come from.

#include "miniapp/deck/key.hpp"

namespace minigift {

enum class DataSource { text, synthetic };
constexpr std::array<std::string_view, 2> names_of(DataSource) {
  return {"text", "synthetic"};
}

enum class TextCleaning { none, gcide };
constexpr std::array<std::string_view, 2> names_of(TextCleaning) {
  return {"none", "gcide"};
}

struct DataDeck {
  DataSource source = DataSource::synthetic;
  std::string path;
  TextCleaning clean = TextCleaning::none;
  double validation_fraction = 0.05;
  std::int64_t synthetic_tokens = 16777216;
  std::int64_t synthetic_vocabulary = 256;
  std::int64_t synthetic_order = 1;
  double synthetic_exponent = 1.1;
  double synthetic_predictability = 0.75;
  std::int64_t synthetic_seed = 1;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.source,
          Key{.name = "source",
              .help = "text: the bytes of a file; synthetic: a seeded Zipf-Markov source without a file"});
    visit(self.path,
          Key{.name = "path",
              .help = "the text, plain or compressed with gzip or dictzip (.gz, .dz); relative to the "
                      "working folder"});
    visit(self.clean,
          Key{.name = "clean",
              .help = "gcide: drop the [1913 Webster] tags and the indentation of Debian's dict-gcide"});
    visit(self.validation_fraction, Key{.name = "validation_fraction",
                                        .help = "the last part of the data, held out for validation",
                                        .minimum = 0,
                                        .maximum = 1,
                                        .above_minimum = true,
                                        .below_maximum = true});
    visit(self.synthetic_tokens, Key{.name = "synthetic_tokens",
                                     .unit = "tokens",
                                     .help = "length of the synthetic source",
                                     .minimum = 2});
    visit(self.synthetic_vocabulary, Key{.name = "synthetic_vocabulary",
                                         .unit = "tokens",
                                         .help = "number of different synthetic tokens",
                                         .minimum = 2,
                                         .maximum = 16777216});
    visit(self.synthetic_order, Key{.name = "synthetic_order",
                                    .unit = "tokens",
                                    .help = "how many preceding tokens a synthetic token depends on",
                                    .minimum = 0,
                                    .maximum = 8});
    visit(self.synthetic_exponent, Key{.name = "synthetic_exponent",
                                       .help = "exponent of the Zipf distribution: p(k) ~ 1/k^exponent",
                                       .minimum = 0});
    visit(self.synthetic_predictability,
          Key{.name = "synthetic_predictability",
              .help = "probability that a token is drawn from its predecessors' few successors",
              .minimum = 0,
              .maximum = 1});
    visit(self.synthetic_seed,
          Key{.name = "synthetic_seed", .help = "seed of the synthetic source", .minimum = 0});
  }
};

}  // namespace minigift
