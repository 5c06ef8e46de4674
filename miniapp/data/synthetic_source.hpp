#pragma once
// A seeded source with something to learn, for machines without a text.
//
// Token t of a block of 256 is, with probability q (synthetic_predictability), one of four successors of the
// synthetic_order tokens before it, the k-th with weight 1/k; otherwise it is drawn from a Zipf distribution
// over the whole vocabulary, p(k) ~ k^-s. Successors are themselves Zipf draws, keyed by a hash of the
// context, so that frequent tokens stay frequent. Blocks start from an empty context: any token costs at most
// one block and no state.

#include "miniapp/data/token_source.hpp"

#include <vector>

namespace minigift {

class SyntheticSource : public TokenSource {
 public:
  static constexpr std::int64_t block_tokens = 256;
  static constexpr std::int64_t successors = 4;

  SyntheticSource(const DataDeck& deck, std::int64_t vocabulary);

  std::int64_t tokens(Split split) const override;
  void read(Split split, std::int64_t position, std::span<std::int32_t> out) const override;
  std::int64_t vocabulary() const override { return vocabulary_; }
  std::uint64_t content_hash() const override;
  std::string description() const override;

 private:
  /// The token whose cumulative probability is the first above `uniform`.
  std::int32_t zipf(double uniform) const;
  void fill_block(std::int64_t block, std::span<std::int32_t> out) const;

  DataDeck deck_;
  std::int64_t vocabulary_;
  std::int64_t train_tokens_;
  std::vector<double> cumulative_;  // (V): probability of a token up to and including this one
};

}  // namespace minigift
