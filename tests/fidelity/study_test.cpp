// Tables I and II on the synthetic gradient of the project's numerical notes: expected values, order, floors,
// and the closed form. Over 1 and 2 ranks, which share its tokens.

#include "miniapp/fidelity/study.hpp"

#include "miniapp/fidelity/claims.hpp"
#include "miniapp/fidelity/row_json.hpp"
#include "miniapp/fidelity/study_tables.hpp"
#include "tests/fidelity/generator_trace.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace minigift {
namespace {

class Study : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Communicator communicator;
    const std::string path = test::write_generated_trace("study", {}, communicator);
    const TraceReader trace(path);
    StudyOptions options;
    options.formats = {"e5m2", "e4m3", "int8", "mxfp8", "nvfp4", "mxfp4", "e5m2-block512"};
    result = run_study(trace, options, 0, 1, [](double, const std::string&) {});
    summaries = summarise(result.one_step);
    text = study_text(result, options, false);
    ranks = communicator.size();
    communicator.barrier();
    if (communicator.rank() == 0) std::filesystem::remove(path);
  }
  static double error(const std::string& transform, const std::string& format = "e5m2") {
    const OneStepSummary* summary = find(summaries, transform, format);
    EXPECT_NE(summary, nullptr) << transform << " " << format;
    return summary == nullptr ? 0.0 : summary->sums.relative_l2();
  }
  static void expect_near(const std::string& transform, double expected, const std::string& format = "e5m2") {
    EXPECT_NEAR(error(transform, format) / expected, 1.0, 0.1) << transform << " in " << format;
  }

  static inline StudyResult result;
  static inline std::vector<OneStepSummary> summaries;
  static inline std::string text;
  static inline int ranks = 0;
};

TEST_F(Study, EuclideanRowsAreTheRoundingFloors) {
  EXPECT_NEAR(error("euclidean"), 0.0527, 0.0007);
  EXPECT_NEAR(error("euclidean", "e4m3"), 0.0265, 0.0005);
  // No choice of scale helps a floating-point format, and neither does a diagonal or a rotation.
  EXPECT_NEAR(error("euclidean", "e5m2-block512") / error("euclidean"), 1.0, 0.01);
  EXPECT_NEAR(error("euclidean", "mxfp8") / error("euclidean", "e4m3"), 1.0, 0.03);
  EXPECT_NEAR(error("input-diag") / error("euclidean"), 1.0, 0.01);
  EXPECT_NEAR(error("euclidean hadamard") / error("euclidean"), 1.0, 0.01);
}

TEST_F(Study, TableTwoOfTheGenerator) {
  // That table's low ranks are completed by the mean of the rest: 12 spikes leave nothing else beyond rank 8.
  expect_near("input-lowrank-8 tail", 0.0200);
  expect_near("input-lowrank-16 tail", 0.0169);
  expect_near("input-lowrank-32 tail", 0.0168);
  expect_near("input-full damping 1e-3", 0.0166);
  expect_near("input-block-128 cholesky", 0.0302);
  expect_near("input-lowrank-32", 0.0083, "e4m3");
}

TEST_F(Study, OrderOfTheTables) {
  EXPECT_GT(error("euclidean"), 1.3 * error("input-block-32"));
  EXPECT_GT(error("input-block-32"), error("input-block-64"));
  EXPECT_GT(error("input-block-64"), error("input-block-128"));
  EXPECT_GT(error("input-block-128"), error("input-lowrank-8 tail"));
  EXPECT_GT(error("input-lowrank-8 tail"), error("input-lowrank-16 tail"));
  EXPECT_GT(error("input-lowrank-8"), error("input-lowrank-16"));
  EXPECT_GT(error("input-full cholesky"), 1.2 * error("input-full"));
  // No gain of the output side with a damping far above its eigenvalues, gain with one relative to them.
  EXPECT_NEAR(error("output-full absolute 1e-3") / error("euclidean"), 1.0, 0.01);
  EXPECT_GT(error("euclidean"), 1.5 * error("output-full"));
  // Formats, from coarse to fine.
  EXPECT_GT(error("euclidean", "mxfp4"), error("euclidean", "nvfp4"));
  EXPECT_GT(error("euclidean", "nvfp4"), error("euclidean"));
  EXPECT_GT(error("euclidean", "e4m3"), error("euclidean", "int8"));
}

TEST_F(Study, ClosedFormPredictsTheError) {
  const double floor = error("euclidean");
  for (const OneStepSummary& summary : summaries) {
    if (summary.format != "e5m2" || std::isnan(gamma_or_nan(summary.gamma))) continue;
    EXPECT_NEAR(summary.sums.relative_l2() / (floor * gamma_or_nan(summary.gamma)), 1.0, 0.06)
        << summary.transform;
  }
}

TEST_F(Study, MuonErrorsFollowTheErrorsAndNothingIsLeftOut) {
  const auto muon = [](const std::string& transform) {
    return find(summaries, transform, "e5m2")->muon_error;
  };
  EXPECT_GT(muon("euclidean"), muon("input-lowrank-32"));
  EXPECT_GT(muon("input-lowrank-32"), 0.0);
  EXPECT_TRUE(std::isnan(find(summaries, "euclidean", "e4m3")->muon_error));
  const std::size_t expected = ranks == 1 ? 2 : 0;  // sums and factors of other tokens need two ranks
  EXPECT_EQ(result.left_out.size(), expected);
}

TEST_F(Study, SumsAndClaims) {
  if (ranks == 1) GTEST_SKIP() << "one rank has no sum";
  const auto sum = [](const std::string& format, const std::string& scheme) {
    for (const SumRow& row : result.sums) {
      if (row.transform == "euclidean" && row.format == format && row.scheme == scheme)
        return row.sums.relative_l2();
    }
    return -1.0;
  };
  EXPECT_LT(sum("fp32", "ring"), 1e-6);
  EXPECT_NEAR(sum("bf16", "ring") / 0.0023, 1.0, 0.1);
  EXPECT_NEAR(sum("e4m3", "ring synced") / sum("e5m2", "ring synced"), 0.5, 0.03);
  EXPECT_GT(sum("e5m2", "ring local, exact scales"), sum("e5m2", "ring synced"));
  const std::vector<Claim> claims = judge_claims(result, "e5m2");
  const auto verdict = [&](const std::string& words) {
    for (const Claim& claim : claims) {
      if (claim.claim.find(words) != std::string::npos) return claim.verdict;
    }
    ADD_FAILURE() << "no claim about " << words;
    return ClaimVerdict::not_measured;
  };
  EXPECT_EQ(verdict("diagonal"), ClaimVerdict::agrees);
  EXPECT_EQ(verdict("rank 32 is as good"), ClaimVerdict::agrees);
  EXPECT_EQ(verdict("output side contributes nothing"), ClaimVerdict::contradicts);
  EXPECT_EQ(verdict("Cholesky"), ClaimVerdict::contradicts);
  EXPECT_EQ(verdict("every 50 steps"), ClaimVerdict::not_measured);
}

TEST_F(Study, TextHasThePapersTablesAndRowsSurviveTheirJson) {
  for (const char* words : {"Table I:", "Table II:", "Input-side low-rank-A-32", "1.721e-02", "CONTRADICTS"})
    EXPECT_NE(text.find(words), std::string::npos) << words;
  const StudyResult again = study_result_from_json(nlohmann::ordered_json::parse(to_json(result).dump()));
  EXPECT_EQ(to_csv(again.one_step), to_csv(result.one_step));
  EXPECT_EQ(to_csv(again.age), to_csv(result.age));
  EXPECT_EQ(to_csv(again.sums), to_csv(result.sums));
  EXPECT_EQ(again.left_out, result.left_out);
}

}  // namespace
}  // namespace minigift
