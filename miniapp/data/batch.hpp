#pragma once
// Which sequences a step trains on. The start of a sequence depends on (seed, step, index in the global
// batch) alone, through a counter-based generator, so any number of ranks and micro-batches sees the same
// global batch.

#include "miniapp/data/token_source.hpp"

namespace minigift {

class BatchSampler {
 public:
  /// `source` must outlive the sampler. Throws UsageError when sequence_length + 1 tokens do not fit into the
  /// training part, or validation_sequences of them, without overlap, into the held-out part.
  BatchSampler(const TokenSource& source, std::int64_t seed, std::int64_t sequence_length,
               std::int64_t validation_sequences);

  std::int64_t sequence_length() const { return sequence_length_; }  // T
  std::int64_t validation_sequences() const { return validation_sequences_; }

  /// Position in the training part where sequence `index` of the global batch of `step` begins.
  std::int64_t train_start(std::int64_t step, std::int64_t index) const;
  /// Position in the held-out part of validation sequence `index`.
  std::int64_t validation_start(std::int64_t index) const;

  /// Sequences [first, first + count) of the global batch of `step`; targets are the tokens one place later.
  /// tokens, targets: (count*T), sequence after sequence.
  void train(std::int64_t step, std::int64_t first, std::int64_t count, std::span<std::int32_t> tokens,
             std::span<std::int32_t> targets) const;
  /// Validation sequences [first, first + count), shapes as above.
  void validation(std::int64_t first, std::int64_t count, std::span<std::int32_t> tokens,
                  std::span<std::int32_t> targets) const;

 private:
  void fill(Split split, std::int64_t start, std::int64_t row, std::span<std::int32_t> tokens,
            std::span<std::int32_t> targets) const;

  const TokenSource& source_;
  std::int64_t seed_;
  std::int64_t sequence_length_;
  std::int64_t validation_sequences_;
};

}  // namespace minigift
