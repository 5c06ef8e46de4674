// The benchmark over ranks: valid as it is, and not with a single element changed, wherever that is.
#include "miniapp/comm/benchmark.hpp"

#include "kernels/error.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>

namespace {

using namespace minigift;

/// Everything that can run in a host build, at one small, odd size.
Deck small_deck() {
  Deck deck;
  deck.comm.minimum_bytes = deck.comm.maximum_bytes = 4 * 1003;
  deck.comm.formats = {Format::fp32, Format::bf16, Format::e4m3};
  deck.comm.collectives = {
      CollectiveChoice::native,    CollectiveChoice::hierarchical,   CollectiveChoice::a2a,
      CollectiveChoice::allreduce, CollectiveChoice::reduce_scatter, CollectiveChoice::all_gather,
      CollectiveChoice::all_to_all};
  if (memory_is_on_host) {
    for (const auto collective : {CollectiveChoice::mpi_allreduce, CollectiveChoice::mpi_reduce_scatter,
                                  CollectiveChoice::mpi_all_gather, CollectiveChoice::mpi_all_to_all})
      deck.comm.collectives.push_back(collective);
  }
  deck.comm.warmup = 1;
  deck.comm.iterations = 3;
  deck.comm.check_every = 2;
  deck.comm.hot = true;  // no sweeps through the caches: only speed depends on them
  return deck;
}

/// Two nodes wherever there can be two, so that the hierarchical sum has both its levels.
CommunicatorOptions options() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CommunicatorOptions result;
  result.self_test = false;
  result.ranks_per_node = ranks % 2 == 0 ? ranks / 2 : 0;
  return result;
}

std::vector<CommRow> run(const Deck& deck) {
  Communicator communicator(options());
  return CommBenchmark(deck, communicator).run();
}

TEST(CommBenchmark, EveryRowPasses) {
  const auto rows = run(small_deck());
  EXPECT_EQ(rows.size(), comm_cases(small_deck().comm).size());
  for (const CommRow& row : rows) {
    const auto label = name(row.wanted.format) + " " + std::string(name_of(row.wanted.collective));
    const bool plain_sum =
        is_plain_mpi(row.wanted.collective) && outcome_of(row.wanted.collective) != Outcome::move;
    if (plain_sum && row.wanted.format != Format::fp32) {
      EXPECT_EQ(row.verdict_text(), "SKIPPED") << label;
      continue;
    }
    EXPECT_EQ(row.verdict_text(), "PASS")
        << label << " " << row.error_failure << row.checksum_failure << row.wire_failure;
    EXPECT_EQ(row.seconds.size(), 3u) << label;
    EXPECT_GT(row.seconds_first, 0) << label;
    EXPECT_LE(row.error, row.bound) << label;
  }
  EXPECT_TRUE(valid(verify(rows)));
}

// Inputs must exercise rounding: a sum that happened to be exact would check nothing.
TEST(CommBenchmark, SumsDoRound) {
  for (const CommRow& row : run(small_deck())) {
    const bool rounds = row.wanted.format != Format::fp32 || row.ranks > 1;
    if (outcome_of(row.wanted.collective) == Outcome::move || !row.skipped.empty() || !rounds) continue;
    EXPECT_GT(row.error, 0.1 * row.bound / row.ranks)
        << name(row.wanted.format) << " " << name_of(row.wanted.collective);
  }
}

TEST(CommBenchmark, OtherFormatsScalesAndColdBuffers) {
  Deck deck = small_deck();
  deck.comm.minimum_bytes = 4 * 64;
  deck.comm.maximum_bytes = 4 * 64 * 40;
  deck.comm.factor = 8;
  deck.comm.formats = {Format::e4m3, Format::e5m2, Format::int8};
  deck.comm.collectives = {CollectiveChoice::native, CollectiveChoice::a2a, CollectiveChoice::hierarchical,
                           CollectiveChoice::allreduce, CollectiveChoice::reduce_scatter};
  deck.comm.scale_block = 128;
  deck.comm.hot = false;
  deck.comm.iterations = 1;
  for (const CommRow& row : run(deck)) {
    const bool owners = row.wanted.collective == CollectiveChoice::a2a ||
                        row.wanted.collective == CollectiveChoice::hierarchical;
    const bool possible = owners || row.wanted.format != Format::int8;
    EXPECT_EQ(row.verdict_text(), possible ? "PASS" : "SKIPPED")
        << name(row.wanted.format) << " " << name_of(row.wanted.collective) << " " << row.wanted.count << " "
        << row.error_failure << row.checksum_failure << row.wire_failure;
  }
}

TEST(CommBenchmark, ASingleChangedElementFailsEveryRow) {
  Communicator communicator(options());
  const int ranks = communicator.size();
  Deck deck = small_deck();
  deck.comm.formats = {Format::fp32, Format::e4m3};
  deck.comm.check_every = 5;
  for (const FaultPlace place : {FaultPlace::first, FaultPlace::middle, FaultPlace::last}) {
    for (int rank = 0; rank < ranks; ++rank) {
      // Of four iterations the third is damaged, in which hashes alone are compared; of one the first.
      deck.comm.iterations = place == FaultPlace::middle && rank == ranks - 1 ? 1 : 4;
      deck.inject.fault = place;
      deck.inject.fault_rank = rank;
      const auto rows = CommBenchmark(deck, communicator).run();
      for (const CommRow& row : rows) {
        if (!row.skipped.empty()) continue;
        EXPECT_EQ(row.verdict_text(), "FAIL")
            << name(row.wanted.format) << " " << name_of(row.wanted.collective) << ": " << name_of(place)
            << " element on rank " << rank;
      }
      EXPECT_FALSE(valid(verify(rows)));
    }
  }
}

TEST(CommBenchmark, WithoutComparisonsNothingIsValid) {
  Deck deck = small_deck();
  deck.comm.check_every = 0;
  const auto rows = run(deck);
  EXPECT_FALSE(valid(verify(rows)));
  for (const CommRow& row : rows) {
    if (row.skipped.empty()) {
      EXPECT_EQ(row.verdict_text(), "UNCHECKED");
    }
  }
}

TEST(CommBenchmark, ATimeLimitStopsARowAfterAWholeIteration) {
  Deck deck = small_deck();
  deck.comm.iterations = 50;
  deck.comm.time_limit_seconds = 1e-9;
  for (const CommRow& row : run(deck)) {
    if (!row.skipped.empty()) continue;
    EXPECT_EQ(row.seconds.size(), 1u);
    EXPECT_EQ(row.verdict_text(), "PASS");
  }
}

TEST(CommBenchmark, WireBytesAreTheClosedForms) {
  for (const CommRow& row : run(small_deck())) {
    if (!row.skipped.empty()) continue;
    const std::int64_t n = row.ranks;
    const std::int64_t part = ((1003 + n - 1) / n + 63) / 64 * 64 * bytes_per_code(row.wanted.format);
    const bool twice = outcome_of(row.wanted.collective) == Outcome::sum;
    const bool owners = row.wanted.collective == CollectiveChoice::a2a ||
                        row.wanted.collective == CollectiveChoice::hierarchical;
    const bool scales = owners && has_scale(row.wanted.format);
    EXPECT_EQ(row.wire_bytes, (twice ? 2 : 1) * (n - 1) * (part + (scales ? 4 : 0)))
        << name(row.wanted.format) << " " << name_of(row.wanted.collective);
    EXPECT_EQ(row.wire_counted, !is_plain_mpi(row.wanted.collective));
  }
}

TEST(CommBenchmark, RefusesCollectivesThatNoFormatCanBeUsedWith) {
  Communicator communicator({.self_test = false});
  Deck deck = small_deck();
  deck.comm.formats = {Format::int8};
  deck.comm.collectives = {CollectiveChoice::a2a, CollectiveChoice::native};
  EXPECT_THROW(CommBenchmark(deck, communicator), UsageError);
  if (!memory_is_on_host) return;
  deck = small_deck();
  deck.comm.collectives = {CollectiveChoice::mpi_all_gather};
  deck.comm.maximum_bytes = std::int64_t{1} << 34;
  deck.comm.factor = 1 << 20;
  EXPECT_THROW(CommBenchmark(deck, communicator), UsageError);
}

}  // namespace
