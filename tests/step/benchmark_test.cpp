// The step benchmark over ranks: every exchange is checked, a single changed bit is found, and what a method
// does has no influence on the next one.

#include "miniapp/step/make_compute.hpp"
#include "miniapp/step/step_benchmark.hpp"
#include "miniapp/step/step_summary.hpp"
#include "tests/train/fixture.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace minigift {
namespace {

class StepBenchmarkTest : public ::testing::Test {
 protected:
  /// Rows of all methods in turns, method after method.
  std::vector<std::vector<IterationRow>> run(std::vector<std::string> changes) {
    changes.insert(changes.begin(), {"step.warmup=1", "step.iterations=3", "step.check_every=2",
                                     "optimizer.hidden=adamw", "train.global_batch=8"});
    deck_ = test::tiny_deck(changes);
    RegionTimer timer;
    compute_ = make_step_compute(deck_, communicator_, timer);
    benchmark_ = std::make_unique<StepBenchmark>(deck_, *compute_, communicator_, timer);
    std::vector<std::vector<IterationRow>> rows(deck_.methods.size());
    for (std::int64_t round = 0; round < deck_.step.warmup + deck_.step.iterations; ++round) {
      for (int m = 0; m < benchmark_->methods(); ++m)
        rows[static_cast<std::size_t>(m)].push_back(benchmark_->run(m));
    }
    return rows;
  }

  Communicator communicator_{{.watchdog_seconds = 60, .self_test = false}};
  Deck deck_;
  std::unique_ptr<StepCompute> compute_;
  std::unique_ptr<StepBenchmark> benchmark_;
};

TEST_F(StepBenchmarkTest, EveryWorkloadIsCheckedAndTimed) {
  for (const char* workload : {"full", "backward", "exchange"}) {
    for (const char* compute : {"real", "timed"}) {
      const auto rows =
          run({fmt::format("step.workload={}", workload), fmt::format("step.compute={}", compute),
               "exchange.methods=fp32,euclidean,gift,gift-a2a"});
      for (int m = 0; m < benchmark_->methods(); ++m) {
        const std::string where =
            fmt::format("{}, {}, {}", workload, compute, deck_.methods[static_cast<std::size_t>(m)].name);
        const StepFindings& findings = benchmark_->findings(m);
        EXPECT_TRUE(findings.disagreeing.empty()) << where << findings.disagreeing.front();
        EXPECT_TRUE(findings.skipped.empty()) << where;
        EXPECT_TRUE(findings.wire_as_planned) << where;
        EXPECT_EQ(findings.exchanges, 4) << where;
        EXPECT_EQ(findings.compared, 3) << where;  // the first, every second, the last: 1, 2, 4
        const StepSummary summary = summarize_iterations(rows[static_cast<std::size_t>(m)]);
        EXPECT_EQ(summary.iterations, 3) << where;
        EXPECT_LE(summary.relative_l2_error, summary.error_bound) << where;
        for (const IterationRow& row : rows[static_cast<std::size_t>(m)]) {
          EXPECT_TRUE(row.ranks_agree) << where;
          EXPECT_GT(row.step_seconds, 0) << where;
          EXPECT_LE(row.step_seconds_minimum, row.step_seconds) << where;
          EXPECT_GT(row.exposed_seconds, 0) << where;
          EXPECT_LE(row.exposed_seconds, row.step_seconds) << where;
          EXPECT_EQ(row.tokens > 0, std::string(workload) != "exchange") << where;
          EXPECT_EQ(row.gradient_bytes, 4 * compute_->registry().total()) << where;
        }
      }
    }
  }
}

TEST_F(StepBenchmarkTest, AOneBitFaultIsFoundOnEveryRankAtEveryPlace) {
  if (communicator_.size() == 1) GTEST_SKIP() << "a checksum compares ranks";
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    for (const char* place : {"first", "middle", "last"}) {
      const auto rows =
          run({"step.workload=exchange", "exchange.methods=euclidean,gift",
               fmt::format("inject.fault={}", place), fmt::format("inject.fault_rank={}", rank)});
      const auto& found = benchmark_->findings(0).disagreeing;
      ASSERT_EQ(found.size(), 1u) << place << " of rank " << rank;
      EXPECT_NE(found[0].find("euclidean, iteration 2: rank"), std::string::npos) << found[0];
      if (rank > 0) {
        EXPECT_NE(found[0].find(fmt::format("rank {} against rank 0", rank)), std::string::npos) << found[0];
      }
      EXPECT_TRUE(benchmark_->findings(1).disagreeing.empty());
      EXPECT_FALSE(rows[0][1].ranks_agree);
      EXPECT_TRUE(rows[0][2].ranks_agree);
    }
  }
}

TEST_F(StepBenchmarkTest, MethodsDoNotTouchEachOther) {
  // fp32 gets the same gradients whatever runs before it, even a method whose ranks come apart.
  const auto alone = run({"exchange.methods=fp32"});
  const auto after = run({"exchange.methods=gift-literal,gift,fp32"});
  for (std::size_t i = 0; i < alone[0].size(); ++i) {
    EXPECT_EQ(alone[0][i].checksum, after[2][i].checksum) << "iteration " << i + 1;
    EXPECT_EQ(alone[0][i].gradient_norm, after[2][i].gradient_norm);
  }
  EXPECT_NE(alone[0][1].checksum, alone[0][2].checksum);  // new tokens in every iteration
}

TEST_F(StepBenchmarkTest, OverlapChangesNoBit) {
  for (const char* compute : {"real", "timed"}) {
    const std::string set = fmt::format("step.compute={}", compute);
    const auto off = run({set, "exchange.methods=gift,gift-a2a"});
    const auto on = run({set, "exchange.methods=gift,gift-a2a", "exchange.overlap=true"});
    for (std::size_t m = 0; m < 2; ++m) {
      for (std::size_t i = 0; i < off[m].size(); ++i)
        EXPECT_EQ(off[m][i].checksum, on[m][i].checksum);
    }
  }
}

TEST_F(StepBenchmarkTest, GeometryHelpsOnSyntheticGradientsAsOnRealOnes) {
  const auto rows = run({"step.workload=exchange", "exchange.methods=euclidean-a2a,lowrank-a2a",
                         "exchange.euclidean-a2a.base=euclidean", "exchange.euclidean-a2a.scale=carried",
                         "exchange.euclidean-a2a.reduction=a2a", "exchange.lowrank-a2a.base=gift-a2a",
                         "exchange.lowrank-a2a.error_feedback=off", "exchange.lowrank-a2a.layers=all",
                         "train.sequence_length=256"});
  const double euclidean = summarize_iterations(rows[0]).relative_l2_error;
  const double low_rank = summarize_iterations(rows[1]).relative_l2_error;
  EXPECT_LT(low_rank, 0.75 * euclidean) << "euclidean " << euclidean;
}

}  // namespace
}  // namespace minigift
