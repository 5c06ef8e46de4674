// Training over ranks: what must not depend on how the work is cut, and what must not touch it.
#include "kernels/error.hpp"
#include "kernels/linalg/reductions.hpp"
#include "miniapp/train/schedule.hpp"
#include "tests/train/fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace minigift {
namespace {

using test::relative_distance;
using test::tiny_deck;
using test::TinyRun;

/// Gradients that add the same numbers in another order differ by round-off. Each of the global batch's K =
/// B*T token contributions to an element is rounded, in products and sums of at most n = K + F terms: with u
/// = 2^-24 and roundings that do not conspire the relative distance of two orders is below 2 sqrt(n) u times
/// the ratio of the sum of magnitudes to the magnitude of the sum, which for a mean over independent tokens
/// is about sqrt(K).
double reordering_bound(const Deck& deck) {
  const double tokens = static_cast<double>(deck.train.global_batch * deck.train.sequence_length);
  const double terms = tokens + static_cast<double>(deck.model.feed_forward);
  return 2.0 * std::sqrt(terms) * 0x1p-24 * std::sqrt(tokens);
}

/// Gradient of the first step and its norm, for the same global batch cut differently.
TEST(Trainer, MicroBatchesGiveTheSameGradient) {
  Communicator communicator;
  std::vector<float> reference;
  double reference_norm = 0.0, reference_loss = 0.0;
  // 24 sequences on N = 1, 2, 3, 4 ranks; per rank 24/N, as one, two, ... micro-batches.
  for (const int micro_batch : {6, 3, 2, 1}) {
    const Deck deck =
        tiny_deck({"train.micro_batch=" + std::to_string(micro_batch), "train.validation_sequences=12"});
    TinyRun run(deck, communicator);
    const StepRow row = run.trainer.step();
    if (reference.empty()) {
      reference = run.gradients();
      reference_norm = row.gradient_norm;
      reference_loss = row.train_loss;
      continue;
    }
    const double bound = reordering_bound(deck);
    EXPECT_LE(relative_distance(run.gradients(), reference), bound) << "micro-batch " << micro_batch;
    EXPECT_NEAR(row.gradient_norm / reference_norm, 1.0, bound);
    EXPECT_NEAR(row.train_loss / reference_loss, 1.0, bound);
  }
}

/// The same on any number of ranks: compared with values that a single process computes for the whole batch,
/// here by every rank on its own model.
TEST(Trainer, RanksGiveTheSameGradientAndNormAsOneProcess) {
  Communicator communicator;
  const Deck deck = tiny_deck();
  TinyRun run(deck, communicator);
  const StepRow row = run.trainer.step();

  Llama<float> whole(llama_shape(deck.model),
                     {.B = deck.train.global_batch, .T = deck.train.sequence_length});
  whole.initialise(static_cast<std::uint64_t>(deck.train.seed));
  const BatchSampler sampler(*run.source, deck.train.seed, deck.train.sequence_length, 8);
  const auto rows = static_cast<std::size_t>(deck.train.global_batch * deck.train.sequence_length);
  HostVector<std::int32_t> tokens("tokens", rows), targets("targets", rows);
  sampler.train(1, 0, deck.train.global_batch, {tokens.data(), rows}, {targets.data(), rows});
  const auto device_tokens = Kokkos::create_mirror_view_and_copy(MemorySpace(), tokens);
  const auto device_targets = Kokkos::create_mirror_view_and_copy(MemorySpace(), targets);
  whole.zero_gradients();
  const double loss = whole.forward(device_tokens, device_targets, 1.0f);
  whole.backward();

  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), whole.gradients());
  const std::vector<float> expected(host.data(), host.data() + host.size());
  const double bound = reordering_bound(deck);
  EXPECT_LE(relative_distance(run.gradients(), expected), bound);
  EXPECT_NEAR(row.gradient_norm / std::sqrt(sum_of_squares<float>(whole.gradients())), 1.0, bound);
  EXPECT_NEAR(row.train_loss / loss, 1.0, bound);
}

/// Trained loss curves against those of one rank. Parameters after several steps differ by accumulated
/// round-off, which Muon amplifies (it lifts directions of small singular values to one), so the curve is
/// compared, not the weights.
TEST(Trainer, LossCurveDoesNotDependOnRanks) {
  Communicator communicator;
  const Deck deck = tiny_deck();
  TinyRun run(deck, communicator);
  std::vector<double> losses;
  for (std::int64_t s = 0; s < deck.train.steps; ++s)
    losses.push_back(run.trainer.step().train_loss);
  // One process with the whole batch; every rank computes it, so that no stored number has to be trusted.
  const Deck alone = tiny_deck({"train.micro_batch=24", "train.validation_sequences=24"});
  Llama<float> model(llama_shape(alone.model), {.B = 24, .T = alone.train.sequence_length});
  model.initialise(static_cast<std::uint64_t>(alone.train.seed));
  Optimizer optimizer(alone.optimizer, model.registry(), model.parameters(), model.gradients(), communicator);
  const BatchSampler sampler(*run.source, alone.train.seed, alone.train.sequence_length, 8);
  const auto rows = static_cast<std::size_t>(24 * alone.train.sequence_length);
  HostVector<std::int32_t> tokens("tokens", rows), targets("targets", rows);
  for (std::int64_t s = 1; s <= alone.train.steps; ++s) {
    sampler.train(s, 0, 24, {tokens.data(), rows}, {targets.data(), rows});
    model.zero_gradients();
    const double loss = model.forward(Kokkos::create_mirror_view_and_copy(MemorySpace(), tokens),
                                      Kokkos::create_mirror_view_and_copy(MemorySpace(), targets), 1.0f);
    model.backward();
    const double norm = std::sqrt(sum_of_squares<float>(model.gradients()));
    optimizer.step(learning_rate(alone.train, s),
                   norm > alone.train.clip_norm ? alone.train.clip_norm / norm : 1.0);
    model.parameters_changed();
    EXPECT_NEAR(losses[static_cast<std::size_t>(s - 1)] / loss, 1.0, 1e-4) << "step " << s;
  }
  EXPECT_LT(losses.back(), losses.front() - 0.1) << "nothing was learnt";
}

TEST(Trainer, OverlapIsBitIdentical) {
  Communicator communicator;
  for (const char* method : {"fp32", "gift", "gift-a2a"}) {
    const std::string methods = std::string("exchange.methods=[\"") + method + "\"]";
    TinyRun serial(tiny_deck({methods}), communicator);
    TinyRun overlapped(tiny_deck({methods, "exchange.overlap=true"}), communicator);
    for (int s = 0; s < 4; ++s) {
      serial.trainer.step();
      overlapped.trainer.step();
    }
    EXPECT_EQ(serial.parameters(), overlapped.parameters()) << method;
  }
}

TEST(Trainer, RecomputationIsBitIdenticalAndBf16StaysClose) {
  Communicator communicator;
  for (const char* method : {"fp32", "gift"}) {
    const std::string methods = std::string("exchange.methods=[\"") + method + "\"]";
    TinyRun base(tiny_deck({methods}), communicator);
    TinyRun recomputed(tiny_deck({methods, "model.recompute=true"}), communicator);
    TinyRun narrow(tiny_deck({methods, "train.compute=bf16"}), communicator);
    double loss = 0.0, narrow_loss = 0.0, first_loss = 0.0;
    for (std::int64_t s = 0; s < base.deck.train.steps; ++s) {
      loss = base.trainer.step().train_loss;
      if (s == 0) first_loss = loss;
      recomputed.trainer.step();
      narrow_loss = narrow.trainer.step().train_loss;
    }
    EXPECT_EQ(base.parameters(), recomputed.parameters()) << method;
    // Operands of 8 significant bits: the loss may move by a small part of what was learnt.
    EXPECT_NEAR(narrow_loss, loss, 0.05 * (first_loss - loss)) << method;
    EXPECT_NE(base.parameters(), narrow.parameters()) << method;
  }
}

TEST(Trainer, ValidationLeavesNoTrace) {
  Communicator communicator;
  TinyRun never(tiny_deck(), communicator), always(tiny_deck(), communicator);
  for (int s = 0; s < 4; ++s) {
    never.trainer.step();
    const double before = always.trainer.validate();
    EXPECT_EQ(before, always.trainer.validate());
    always.trainer.step();
  }
  EXPECT_EQ(never.parameters(), always.parameters());
}

TEST(Trainer, ChecksLeaveNoTrace) {
  Communicator communicator;
  TinyRun checked(tiny_deck({"exchange.methods=[\"gift\"]"}), communicator);
  TinyRun unchecked(tiny_deck({"exchange.methods=[\"gift\"]", "train.check_every=0"}), communicator);
  for (int s = 0; s < 4; ++s) {
    EXPECT_TRUE(std::isfinite(checked.trainer.step().relative_l2_error));
    EXPECT_FALSE(std::isfinite(unchecked.trainer.step().relative_l2_error));
  }
  EXPECT_EQ(checked.parameters(), unchecked.parameters());
}

TEST(Trainer, ReplicasStayEqualInEveryMethodButTheLiteralOne) {
  Communicator communicator;
  for (const MethodDeck& method : built_in_methods()) {
    TinyRun run(tiny_deck({"exchange.methods=[\"" + method.name + "\"]"}), communicator);
    for (std::int64_t s = 0; s < run.deck.train.steps; ++s) {
      const StepRow row = run.trainer.step();
      EXPECT_FALSE(row.skipped);
      EXPECT_TRUE(std::isfinite(row.train_loss)) << method.name;
    }
    EXPECT_EQ(run.trainer.replicas_identical(), !method.allow_divergence || communicator.size() == 1)
        << method.name;
    EXPECT_TRUE(run.trainer.wire_bytes_as_planned()) << method.name;
    if (method.allow_divergence && communicator.size() > 1) {
      EXPECT_GT(run.trainer.replica_divergence(), 1e-4) << method.name;
    }
  }
}

TEST(Trainer, DivergenceIsAnErrorWhereItIsNotAllowed) {
  Communicator communicator;
  if (communicator.size() == 1) GTEST_SKIP() << "one rank cannot differ from itself";
  TinyRun run(tiny_deck(), communicator);
  run.trainer.step();
  if (communicator.rank() == 1) {
    // A flipped bit on one rank: what a faulty link or memory would do.
    const auto parameters = run.trainer.model().parameters();
    Kokkos::deep_copy(Kokkos::subview(parameters, Kokkos::make_pair(1000, 1001)), 0.123f);
  }
  EXPECT_THROW(run.trainer.step(), RuntimeError);
}

TEST(Trainer, ANonFiniteWeightGradientSkipsTheStepOnAllRanks) {
  Communicator communicator;
  TinyRun run(tiny_deck({"exchange.methods=[\"gift\"]", "train.abort_on_divergence=false"}), communicator);
  run.trainer.step();
  const auto before = run.parameters();
  const auto parameters = run.trainer.model().parameters();
  const auto element = Kokkos::subview(parameters, Kokkos::make_pair(40000, 40001));
  if (communicator.rank() == communicator.size() - 1) {
    Kokkos::deep_copy(element, std::numeric_limits<float>::infinity());
    run.trainer.model().parameters_changed();
  }
  EXPECT_TRUE(run.trainer.step().skipped);
  ASSERT_EQ(run.trainer.skipped().size(), 1u);
  EXPECT_NE(run.trainer.skipped()[0].find("on rank " + std::to_string(communicator.size() - 1)),
            std::string::npos)
      << run.trainer.skipped()[0];
  if (communicator.rank() == communicator.size() - 1) Kokkos::deep_copy(element, before[40000]);
  EXPECT_EQ(run.parameters(), before) << "a skipped step changed parameters";
}

/// One owner per matrix: every rank ends with the bits that it would have computed itself.
TEST(Trainer, ShardedMuonGivesTheSameBits) {
  Communicator communicator;
  TinyRun whole(tiny_deck(), communicator), sharded(tiny_deck({"optimizer.muon_sharded=true"}), communicator);
  for (int step = 0; step < 3; ++step) {
    whole.trainer.step();
    sharded.trainer.step();
    EXPECT_EQ(whole.parameters(), sharded.parameters()) << "after step " << step + 1;
  }
  EXPECT_TRUE(sharded.trainer.replicas_identical());
}

}  // namespace
}  // namespace minigift
