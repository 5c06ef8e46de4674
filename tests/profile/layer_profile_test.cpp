// Rankings, cuts, correlations.

#include "miniapp/profile/profile_report.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace minigift {
namespace {

TEST(Ranking, CutsAtTheLargestDropOfTheUpperHalf) {
  const Ranking ranking = rank_layers({0.1, 5, 4, 0.5, 4.5, 0.4, 0.3, 0.05}, 0);
  EXPECT_EQ(ranking.order, (std::vector<std::size_t>{1, 4, 2, 3, 5, 6, 0, 7}));
  EXPECT_EQ(ranking.chosen, 3u);
  EXPECT_DOUBLE_EQ(ranking.drop, 8.0);
  EXPECT_EQ(rank_layers({3, 2, 1}, 2).chosen, 2u);
  EXPECT_EQ(rank_layers({3, 2, 1}, 9).chosen, 3u);
  // The drop from 1 to 0.001 lies in the lower half.
  EXPECT_EQ(rank_layers({4, 2, 1, 0.001}, 0).chosen, 1u);
}

TEST(Ranking, LayersWithoutAScoreAreNeverChosenAndTiesKeepTheirOrder) {
  EXPECT_EQ(rank_layers({0, 0, 0}, 0).chosen, 0u);
  EXPECT_EQ(rank_layers({0, 1, 0, -1}, 3).chosen, 1u);
  EXPECT_EQ(rank_layers({1, 2, 2, 1}, 0).order, (std::vector<std::size_t>{1, 2, 0, 3}));
}

TEST(RankCorrelation, OfKnownSeries) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 40}), 1.0);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {9, 4, 2, 1}), -1.0);
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4, 5}, {2, 1, 4, 3, 5}), 0.8, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), std::sqrt(0.9), 1e-12);  // ties share 2.5
  EXPECT_TRUE(std::isnan(rank_correlation({1, 1, 1}, {1, 2, 3})));
  EXPECT_TRUE(std::isnan(rank_correlation({1, 2}, {1, 2})));
}

TEST(ProfileReport, TextCsvAndSelectionAgree) {
  std::vector<LayerProfile> profiles;
  for (int i = 0; i < 4; ++i) {
    LayerProfile profile{
        .tensor = "layer" + std::to_string(i) + ".weight", .role = "mlp_up", .layer = i, .size = 100};
    profile.add(BoundaryCounts{
        .elements = 100, .upper = 1, .flushed = i, .subnormal = 10, .lower = 2 * i, .non_finite = 0});
    profile.gain = 1.0 / (1 + i);
    profile.reduction = 0.1 * (4 - i);
    profile.saved = 0.1 * (i % 2);
    profile.gamma = 0.5;
    profile.measured = 1;
    profiles.push_back(profile);
  }
  const ProfileReport report =
      make_profile_report(profiles, LowerBoundary::least_magnitude, ProfileScore::gain, 2);
  EXPECT_EQ(report.boundary.order.front(), 3u);
  EXPECT_EQ(report.gain.order.front(), 0u);
  EXPECT_DOUBLE_EQ(report.boundary.scores[3], 0.01 + 0.06);
  EXPECT_DOUBLE_EQ(profiles[3].lower_share(LowerBoundary::flushed), 0.03);
  EXPECT_DOUBLE_EQ(profiles[3].lower_share(LowerBoundary::subnormal), 0.13);
  EXPECT_NE(profile_text(report).find("own error, in percent: boundary -1.00, gain +1.00"), std::string::npos)
      << profile_text(report);
  const std::string selection = selection_text(report, "a test");
  EXPECT_NE(selection.find("\nlayer0.weight  #"), std::string::npos) << selection;
  EXPECT_NE(selection.find("\nlayer1.weight  #"), std::string::npos);
  EXPECT_EQ(selection.find("\nlayer2.weight"), std::string::npos);
  EXPECT_NE(profile_csv(report).find("layer0.weight,mlp_up,0,100,0.01,4,"), std::string::npos)
      << profile_csv(report);
}

}  // namespace
}  // namespace minigift
