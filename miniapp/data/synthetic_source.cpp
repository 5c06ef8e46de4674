#include "miniapp/data/synthetic_source.hpp"

#include "kernels/error.hpp"
#include "kernels/format/philox.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace minigift {
namespace {

// Streams of the generator: what is drawn, told apart by the "tensor" word of the key.
constexpr std::uint32_t token_stream = 0x544f4b45;      // one block of four words per position
constexpr std::uint32_t successor_stream = 0x53554343;  // one word per (context, successor)

double uniform(std::uint32_t word) {
  return static_cast<double>(word) * 0x1p-32;
}

}  // namespace

SyntheticSource::SyntheticSource(const DataDeck& deck, std::int64_t vocabulary)
    : deck_(deck),
      vocabulary_(deck.synthetic_vocabulary),
      train_tokens_(train_tokens(deck.synthetic_tokens, deck.validation_fraction)) {
  require_usage(vocabulary_ <= vocabulary,
                "data.synthetic_vocabulary = {} is larger than the model's vocabulary of {}", vocabulary_,
                vocabulary);
  cumulative_.resize(static_cast<std::size_t>(vocabulary_));
  double sum = 0;
  for (std::size_t k = 0; k < cumulative_.size(); ++k) {
    sum += std::pow(static_cast<double>(k + 1), -deck.synthetic_exponent);
    cumulative_[k] = sum;
  }
  for (double& value : cumulative_)
    value /= sum;
}

std::int32_t SyntheticSource::zipf(double uniform) const {
  const auto above = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, uniform);
  return static_cast<std::int32_t>(above - cumulative_.begin());
}

void SyntheticSource::fill_block(std::int64_t block, std::span<std::int32_t> out) const {
  const auto seed = static_cast<std::uint64_t>(deck_.synthetic_seed);
  const PhiloxKey token_key = philox_key(seed, 0, token_stream, 0);
  const PhiloxKey successor_key = philox_key(seed, 0, successor_stream, 0);
  static constexpr std::array<double, successors> weights = {12.0 / 25, 6.0 / 25, 4.0 / 25,
                                                             3.0 / 25};  // ~ 1/k
  for (std::size_t i = 0; i < out.size(); ++i) {
    const PhiloxBlock draw = philox_block(token_key, block * block_tokens + static_cast<std::int64_t>(i));
    const auto order = static_cast<std::size_t>(deck_.synthetic_order);
    if (i < order || order == 0 || uniform(draw.word0) >= deck_.synthetic_predictability) {
      out[i] = zipf(uniform(draw.word1));
      continue;
    }
    std::int64_t choice = 0;
    double rest = uniform(draw.word2);
    while (choice + 1 < successors && rest >= weights[static_cast<std::size_t>(choice)]) {
      rest -= weights[static_cast<std::size_t>(choice)];
      ++choice;
    }
    std::uint64_t context = 0;  // a hash, so that long contexts need no table
    for (std::size_t j = i - order; j < i; ++j) {
      context = (context ^ static_cast<std::uint64_t>(out[j] + 1)) * 0x9e3779b97f4a7c15u;
      context ^= context >> 29;
    }
    const auto index = std::bit_cast<std::int64_t>((context << 2 | static_cast<std::uint64_t>(choice)) >> 1);
    out[i] = zipf(uniform(philox_bits(successor_key, index)));
  }
}

std::int64_t SyntheticSource::tokens(Split split) const {
  return split == Split::train ? train_tokens_ : deck_.synthetic_tokens - train_tokens_;
}

void SyntheticSource::read(Split split, std::int64_t position, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  require(position >= 0 && position <= tokens(split) - count, "tokens {} ... {} of {} read", position,
          position + count, tokens(split));
  std::int64_t at = position + (split == Split::train ? 0 : train_tokens_);
  std::array<std::int32_t, block_tokens> block;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t skip = at % block_tokens;
    const std::int64_t take = std::min(block_tokens - skip, count - done);
    // The block's first tokens are the context of those that were asked for.
    fill_block(at / block_tokens, std::span(block).first(static_cast<std::size_t>(skip + take)));
    std::copy_n(block.begin() + skip, take, out.begin() + done);
    at += take;
    done += take;
  }
}

std::uint64_t SyntheticSource::content_hash() const {
  std::uint64_t state = 0xcbf29ce484222325u;
  const auto mix = [&](std::uint64_t word) {
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    state ^= state >> 32;
  };
  for (const std::int64_t value : {deck_.synthetic_tokens, deck_.synthetic_vocabulary, deck_.synthetic_order,
                                   deck_.synthetic_seed, train_tokens_}) {
    mix(static_cast<std::uint64_t>(value));
  }
  mix(std::bit_cast<std::uint64_t>(deck_.synthetic_exponent));
  mix(std::bit_cast<std::uint64_t>(deck_.synthetic_predictability));
  return state;
}

std::string SyntheticSource::description() const {
  return fmt::format("synthetic Zipf-Markov source (order {}, seed {}): {} tokens for training, {} held out",
                     deck_.synthetic_order, deck_.synthetic_seed, tokens(Split::train),
                     tokens(Split::validation));
}

}  // namespace minigift
