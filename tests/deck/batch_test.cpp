// Batches depend on (seed, step, global index) alone, training never sees held-out tokens, targets are one
// place later.

#include "miniapp/data/batch.hpp"

#include "kernels/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace minigift {
namespace {

/// Token = position, so that a test sees where a token came from.
class CountingSource : public TokenSource {
 public:
  CountingSource(std::int64_t train, std::int64_t validation) : train_(train), validation_(validation) {}
  std::int64_t tokens(Split split) const override { return split == Split::train ? train_ : validation_; }
  void read(Split split, std::int64_t position, std::span<std::int32_t> out) const override {
    require(position >= 0 && position + std::ssize(out) <= tokens(split), "outside");
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int64_t at = position + static_cast<std::int64_t>(i) + (split == Split::train ? 0 : train_);
      out[i] = static_cast<std::int32_t>(at & 0x7fffffff);
    }
  }
  std::int64_t vocabulary() const override { return 1 << 30; }
  std::uint64_t content_hash() const override { return 0; }
  std::string description() const override { return "counting source"; }

 private:
  std::int64_t train_;
  std::int64_t validation_;
};

struct Batch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  Batch(std::int64_t count, std::int64_t length)
      : tokens(static_cast<std::size_t>(count * length)), targets(static_cast<std::size_t>(count * length)) {}
};

TEST(Batch, EverySplitIntoMicroBatchesSeesTheSameGlobalBatch) {
  const CountingSource source(10000, 1000);
  const BatchSampler sampler(source, 7, 16, 4);
  Batch whole(8, 16);
  sampler.train(3, 0, 8, whole.tokens, whole.targets);
  for (const std::int64_t size : {1, 2, 4}) {
    for (std::int64_t first = 0; first < 8; first += size) {
      Batch part(size, 16);
      sampler.train(3, first, size, part.tokens, part.targets);
      EXPECT_TRUE(std::equal(part.tokens.begin(), part.tokens.end(), whole.tokens.begin() + first * 16));
      EXPECT_TRUE(std::equal(part.targets.begin(), part.targets.end(), whole.targets.begin() + first * 16));
    }
  }
  Batch other(8, 16);
  sampler.train(4, 0, 8, other.tokens, other.targets);
  EXPECT_NE(other.tokens, whole.tokens) << "another step, another batch";
  BatchSampler(source, 8, 16, 4).train(3, 0, 8, other.tokens, other.targets);
  EXPECT_NE(other.tokens, whole.tokens) << "another seed, another batch";
}

TEST(Batch, TargetsAreTheNextTokensAndTrainingStaysInItsPart) {
  const CountingSource source(200, 100);
  const BatchSampler sampler(source, 1, 32, 3);
  std::int32_t largest = 0;
  std::int32_t smallest = 1000;
  for (std::int64_t step = 0; step < 5000; ++step) {
    Batch batch(2, 32);
    sampler.train(step, 0, 2, batch.tokens, batch.targets);
    for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
      ASSERT_EQ(batch.targets[i], batch.tokens[i] + 1);
      if (i % 32 != 0) {
        ASSERT_EQ(batch.tokens[i], batch.tokens[i - 1] + 1);
      }
      largest = std::max(largest, batch.targets[i]);
      smallest = std::min(smallest, batch.tokens[i]);
    }
  }
  EXPECT_EQ(largest, 199) << "the last training token is reached and never passed";
  EXPECT_EQ(smallest, 0);
}

TEST(Batch, ValidationIsFixedHeldOutEvenAndWithoutOverlap) {
  const CountingSource source(200, 100);
  const BatchSampler sampler(source, 1, 24, 4);
  Batch all(4, 24);
  sampler.validation(0, 4, all.tokens, all.targets);
  std::set<std::int32_t> seen;
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all.tokens[static_cast<std::size_t>(i * 24)], 200 + 25 * i);
    for (std::int64_t j = 0; j < 24; ++j) {
      const auto at = static_cast<std::size_t>(i * 24 + j);
      EXPECT_TRUE(seen.insert(all.tokens[at]).second);
      EXPECT_GE(all.tokens[at], 200);
      EXPECT_LT(all.targets[at], 300);
    }
  }
  Batch part(2, 24);
  sampler.validation(2, 2, part.tokens, part.targets);
  EXPECT_TRUE(std::equal(part.tokens.begin(), part.tokens.end(), all.tokens.begin() + 48));
  Batch again(4, 24);
  BatchSampler(source, 99, 24, 4).validation(0, 4, again.tokens, again.targets);
  EXPECT_EQ(again.tokens, all.tokens) << "the seed does not move validation";
  EXPECT_THROW(sampler.validation(3, 2, part.tokens, part.targets), RuntimeError);
}

TEST(Batch, StartsAreUniformOverAllPositionsBeyond32Bits) {
  const std::int64_t positions = std::int64_t{1} << 40;
  const CountingSource source(positions + 16, 1000);
  const BatchSampler sampler(source, 1, 16, 4);
  constexpr int samples = 4000;
  double sum = 0;
  std::int64_t low_bits = 0;
  for (int i = 0; i < samples; ++i) {
    const std::int64_t start = sampler.train_start(i / 8, i % 8);
    ASSERT_GE(start, 0);
    ASSERT_LT(start, positions);
    sum += static_cast<double>(start) / static_cast<double>(positions);
    low_bits += start & 1;
  }
  // Mean 1/2 with standard deviation 1/sqrt(12 n); the lowest bit is a fair coin.
  EXPECT_NEAR(sum / samples, 0.5, 5 / std::sqrt(12.0 * samples));
  EXPECT_NEAR(static_cast<double>(low_bits) / samples, 0.5, 5 * 0.5 / std::sqrt(samples));
}

std::string problem(std::int64_t train, std::int64_t validation, std::int64_t length,
                    std::int64_t sequences) {
  const CountingSource source(train, validation);
  try {
    const BatchSampler sampler(source, 1, length, sequences);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Batch, SequencesLongerThanTheDataAreRefused) {
  EXPECT_EQ(problem(33, 100, 32, 3), "");
  const std::string train = problem(32, 100, 32, 3);
  EXPECT_NE(train.find("train.sequence_length = 32"), std::string::npos) << train;
  EXPECT_NE(train.find("32 tokens, 33 needed (counting source)"), std::string::npos) << train;
  EXPECT_EQ(problem(1000, 99, 32, 3), "");
  const std::string held_out = problem(1000, 98, 32, 3);
  EXPECT_NE(held_out.find("98 tokens, 99 needed"), std::string::npos) << held_out;
  EXPECT_NE(held_out.find("train.validation_sequences = 3"), std::string::npos) << held_out;
}

TEST(Batch, WrongBufferIsRefused) {
  const CountingSource source(100, 100);
  const BatchSampler sampler(source, 1, 8, 1);
  Batch batch(2, 8);
  EXPECT_THROW(sampler.train(0, 0, 3, batch.tokens, batch.targets), RuntimeError);
}

}  // namespace
}  // namespace minigift
