#pragma once
// Decks for short trainings of the test model.

#include "miniapp/exchange/method.hpp"
#include "miniapp/train/trainer.hpp"

#include <memory>
#include <string>
#include <vector>

namespace minigift::test {

/// llama-test on synthetic text; `changes` as after --set.
inline Deck tiny_deck(const std::vector<std::string>& changes = {}) {
  static const char* text = R"(
[model]
layers = 2
hidden = 64
heads = 4
kv_heads = 4
feed_forward = 192
vocabulary = 256
[data]
source = "synthetic"
synthetic_tokens = 100000
[train]
steps = 6
sequence_length = 32
global_batch = 24
micro_batch = 2
learning_rate = 3e-3
minimum_learning_rate = 3e-4
warmup_steps = 2
validation_sequences = 8
validation_every = 0
check_every = 1
[exchange]
methods = ["fp32"]
bucket_megabytes = 0.1
)";
  const auto methods = built_in_methods();
  return parse_deck(text, "tiny", changes, methods);
}

/// A training of a deck's first method.
struct TinyRun {
  TinyRun(const Deck& used, Communicator& communicator)
      : deck(used),
        source(open_token_source(deck.data, deck.model.vocabulary)),
        trainer(deck, deck.methods.front(), *source, communicator, nullptr) {}

  Deck deck;
  std::unique_ptr<TokenSource> source;
  Trainer trainer;

  std::vector<float> parameters() {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), trainer.model().parameters());
    return {host.data(), host.data() + host.size()};
  }
  std::vector<float> gradients() {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), trainer.model().gradients());
    return {host.data(), host.data() + host.size()};
  }
};

inline double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference / norm);
}

}  // namespace minigift::test
