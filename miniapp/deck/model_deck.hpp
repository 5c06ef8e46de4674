#pragma once
// [model]: the shape of the Llama. Letters as everywhere: C hidden width, H heads, F feed-forward width, V
// vocabulary.

#include "miniapp/deck/key.hpp"

namespace minigift {

struct ModelDeck {
  std::string deck;  ///< as given; its values have been read when the deck is complete
  std::string name = "unnamed";
  std::int64_t layers = 2;
  std::int64_t hidden = 64;         // C
  std::int64_t heads = 4;           // H
  std::int64_t kv_heads = 4;        // H_kv
  std::int64_t feed_forward = 192;  // F
  std::int64_t vocabulary = 256;    // V
  double rope_theta = 10000.0;
  double rms_epsilon = 1e-5;
  double init_std = 0.02;
  bool recompute = false;

  std::int64_t head_width() const { return hidden / heads; }  // D

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.deck,
          Key{.name = "deck",
              .help = "read models/NAME.toml (beside this deck, or of the inputs folder) first; keys given "
                      "here override it",
              .input_only = true});
    visit(self.name, Key{.name = "name", .help = "name printed in tables and results"});
    visit(self.layers, Key{.name = "layers", .help = "number of decoder layers", .minimum = 1});
    visit(self.hidden, Key{.name = "hidden", .help = "width C of the residual stream", .minimum = 2});
    visit(self.heads, Key{.name = "heads", .help = "query heads H; must divide hidden", .minimum = 1});
    visit(self.kv_heads,
          Key{.name = "kv_heads", .help = "key and value heads; must divide heads", .minimum = 1});
    visit(self.feed_forward,
          Key{.name = "feed_forward", .help = "width F of the SwiGLU feed-forward layer", .minimum = 1});
    visit(self.vocabulary, Key{.name = "vocabulary",
                               .unit = "tokens",
                               .help = "vocabulary size V; bytes of a text need 256",
                               .minimum = 2,
                               .maximum = 2147483647});
    visit(self.rope_theta, Key{.name = "rope_theta",
                               .help = "base of the rotary position frequencies",
                               .minimum = 0,
                               .above_minimum = true});
    visit(self.rms_epsilon,
          Key{.name = "rms_epsilon", .help = "added to the mean square in RMSNorm", .minimum = 0});
    visit(self.init_std,
          Key{.name = "init_std",
              .help = "standard deviation of the initial weights; the two output projections of a "
                      "layer use init_std/sqrt(2 layers)",
              .minimum = 0,
              .above_minimum = true});
    visit(self.recompute, Key{.name = "recompute",
                              .help = "keep only each layer's input and compute its activations again in the "
                                      "backward pass"});
  }
};

}  // namespace minigift
