#include "miniapp/data/batch.hpp"

#include "kernels/error.hpp"
#include "kernels/format/philox.hpp"

#include <algorithm>
#include <vector>

namespace minigift {
namespace {

constexpr std::uint32_t order_stream = 0x4f524452;  // the "tensor" word of the key of all data order

/// Uniform integer below `bound`, any 64-bit bound: the high half of a 64 x 64-bit product, bias below
/// bound/2^64.
std::int64_t below(const PhiloxBlock& block, std::int64_t bound) {
  const auto wide = static_cast<unsigned __int128>(std::uint64_t{block.word0} << 32 | block.word1);
  return static_cast<std::int64_t>((wide * static_cast<unsigned __int128>(bound)) >> 64);
}

}  // namespace

BatchSampler::BatchSampler(const TokenSource& source, std::int64_t seed, std::int64_t sequence_length,
                           std::int64_t validation_sequences)
    : source_(source),
      seed_(seed),
      sequence_length_(sequence_length),
      validation_sequences_(validation_sequences) {
  require_usage(sequence_length >= 1, "train.sequence_length = {} must be at least 1", sequence_length);
  require_usage(validation_sequences >= 1, "train.validation_sequences = {} must be at least 1",
                validation_sequences);
  const std::int64_t training = source.tokens(Split::train);
  require_usage(training > sequence_length,
                "train.sequence_length = {} does not fit into the training data: {} tokens, {} needed ({})",
                sequence_length, training, sequence_length + 1, source.description());
  const std::int64_t held_out = source.tokens(Split::validation);
  require_usage(
      held_out / (sequence_length + 1) >= validation_sequences,
      "train.validation_sequences = {} of train.sequence_length = {} do not fit into the held-out data: {} "
      "tokens, {} needed; lower one of them or raise data.validation_fraction ({})",
      validation_sequences, sequence_length, held_out, validation_sequences * (sequence_length + 1),
      source.description());
}

std::int64_t BatchSampler::train_start(std::int64_t step, std::int64_t index) const {
  const PhiloxKey key =
      philox_key(static_cast<std::uint64_t>(seed_), static_cast<std::uint64_t>(step), order_stream, 0);
  return below(philox_block(key, index), source_.tokens(Split::train) - sequence_length_);
}

std::int64_t BatchSampler::validation_start(std::int64_t index) const {
  return index * (source_.tokens(Split::validation) / validation_sequences_);
}

void BatchSampler::fill(Split split, std::int64_t start, std::int64_t row, std::span<std::int32_t> tokens,
                        std::span<std::int32_t> targets) const {
  const auto length = static_cast<std::size_t>(sequence_length_);
  std::vector<std::int32_t> window(length + 1);
  source_.read(split, start, window);
  const auto offset = static_cast<std::ptrdiff_t>(row * sequence_length_);
  std::copy_n(window.begin(), length, tokens.begin() + offset);
  std::copy_n(window.begin() + 1, length, targets.begin() + offset);
}

namespace {

void check_shape(std::int64_t count, std::int64_t length, std::span<const std::int32_t> tokens,
                 std::span<const std::int32_t> targets) {
  require(std::ssize(tokens) == count * length && std::ssize(targets) == count * length,
          "a batch of {} sequences of {} tokens given buffers of {} tokens and {} targets", count, length,
          tokens.size(), targets.size());
}

}  // namespace

void BatchSampler::train(std::int64_t step, std::int64_t first, std::int64_t count,
                         std::span<std::int32_t> tokens, std::span<std::int32_t> targets) const {
  check_shape(count, sequence_length_, tokens, targets);
  for (std::int64_t i = 0; i < count; ++i)
    fill(Split::train, train_start(step, first + i), i, tokens, targets);
}

void BatchSampler::validation(std::int64_t first, std::int64_t count, std::span<std::int32_t> tokens,
                              std::span<std::int32_t> targets) const {
  check_shape(count, sequence_length_, tokens, targets);
  require(first >= 0 && first <= validation_sequences_ - count, "validation sequences {} ... {} of {}", first,
          first + count, validation_sequences_);
  for (std::int64_t i = 0; i < count; ++i)
    fill(Split::validation, validation_start(first + i), i, tokens, targets);
}

}  // namespace minigift
