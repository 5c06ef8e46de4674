#pragma once
// A profile as a bar chart, a table, a CSV file and a selection file.

#include "miniapp/profile/layer_profile.hpp"

#include <string>
#include <vector>

namespace minigift {

struct ProfileReport {
  std::vector<LayerProfile> profiles;
  LowerBoundary lower = LowerBoundary::least_magnitude;
  Ranking boundary, gain;
  ProfileScore chosen_by = ProfileScore::gain;

  const Ranking& chosen() const { return chosen_by == ProfileScore::boundary ? boundary : gain; }
  std::vector<double> reductions() const;  ///< measured_reduction() of each
  std::vector<double> savings() const;     ///< measured_saving() of each
};

/// Ranks by both scores.
ProfileReport make_profile_report(std::vector<LayerProfile> profiles, LowerBoundary lower,
                                  ProfileScore chosen_by, std::int64_t top);

/// Both rankings as bar charts with their cuts, and the rank correlations of the scores with the measured
/// gain and with each other.
std::string profile_text(const ProfileReport& report);
/// One line per layer: scores, places, shares, gamma, measured reduction, whether chosen.
std::string profile_csv(const ProfileReport& report);
/// What exchange.METHOD.layers = "file:PATH" reads: names of the chosen tensors, with comments that say how.
std::string selection_text(const ProfileReport& report, const std::string& origin);

}  // namespace minigift
