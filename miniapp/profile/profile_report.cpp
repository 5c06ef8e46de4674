#include "miniapp/profile/profile_report.hpp"

#include "miniapp/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

std::vector<std::size_t> places(const Ranking& ranking) {
  std::vector<std::size_t> place(ranking.order.size());
  for (std::size_t i = 0; i < ranking.order.size(); ++i)
    place[ranking.order[i]] = i + 1;
  return place;
}

std::string correlation(double value) {
  return std::isfinite(value) ? fmt::format("{:+.2f}", value) : std::string("-");
}

std::string chart(const ProfileReport& report, const Ranking& ranking, const std::string& title) {
  constexpr int width = 40;
  Table table({{"place"},
               {"tensor", "", Align::left},
               {"score"},
               {"", "", Align::left},
               {"upper", "share"},
               {"lower", "share"},
               {"gamma"},
               {"error removed", "%"}});
  const double largest = std::max(0.0, ranking.scores.empty() ? 0.0 : ranking.scores[ranking.order.front()]);
  for (std::size_t i = 0; i < ranking.order.size(); ++i) {
    const LayerProfile& profile = report.profiles[ranking.order[i]];
    const double score = ranking.scores[ranking.order[i]];
    const int length = largest > 0 && score > 0 ? static_cast<int>(std::lround(width * score / largest)) : 0;
    table.add_row({fmt::format("{}{}", i < ranking.chosen ? "* " : "", i + 1), profile.tensor,
                   cell_scientific(score, 2), std::string(static_cast<std::size_t>(length), '#'),
                   cell_scientific(profile.upper_share(), 1),
                   cell_scientific(profile.lower_share(report.lower), 1), cell_fixed(profile.mean_gamma(), 3),
                   cell_fixed(100 * profile.measured_reduction(), 1)});
  }
  const std::string cut = ranking.drop > 0
                              ? fmt::format("the score drops by {:.2f} behind them", ranking.drop)
                              : std::string("as many as asked for");
  return fmt::format("\n{}\n{}* chosen: {} of {}; {}\n", title, table.text(), ranking.chosen,
                     ranking.order.size(), cut);
}

}  // namespace

std::vector<double> ProfileReport::reductions() const {
  std::vector<double> values;
  for (const LayerProfile& profile : profiles)
    values.push_back(profile.measured_reduction());
  return values;
}

std::vector<double> ProfileReport::savings() const {
  std::vector<double> values;
  for (const LayerProfile& profile : profiles)
    values.push_back(profile.measured_saving());
  return values;
}

ProfileReport make_profile_report(std::vector<LayerProfile> profiles, LowerBoundary lower,
                                  ProfileScore chosen_by, std::int64_t top) {
  ProfileReport report;
  report.profiles = std::move(profiles);
  report.lower = lower;
  report.chosen_by = chosen_by;
  std::vector<double> boundary, gain;
  for (const LayerProfile& profile : report.profiles) {
    boundary.push_back(profile.boundary_score(lower));
    gain.push_back(profile.gain_score());
  }
  report.boundary = rank_layers(boundary, top);
  report.gain = rank_layers(gain, top);
  return report;
}

std::string profile_text(const ProfileReport& report) {
  std::string text =
      chart(report, report.boundary,
            fmt::format("Boundary score: mean share of codes at the upper and the lower boundary ({})",
                        name(report.lower)));
  text += chart(report, report.gain, "Gain score: mean of (1 - gamma^2) ||W||^2 / size");
  const auto line = [&](const char* measured, const std::vector<double>& values) {
    return fmt::format("{}: boundary {}, gain {}\n", measured,
                       correlation(rank_correlation(report.boundary.scores, values)),
                       correlation(rank_correlation(report.gain.scores, values)));
  };
  text += "\nrank correlation of the scores with what coordinates were measured to remove\n";
  text += line("  of the layer's own error, in percent", report.reductions());
  text += line("  of the whole gradient's squared error, per element", report.savings());
  text += fmt::format("of the two scores with each other: {}\n",
                      correlation(rank_correlation(report.boundary.scores, report.gain.scores)));
  return text;
}

std::string profile_csv(const ProfileReport& report) {
  std::string text =
      "tensor,role,layer,size,boundary_score,boundary_place,upper_share,lower_share,flushed_share,least_"
      "share,"
      "subnormal_share,gain_score,gain_place,gamma,error_removed,squared_error_removed,samples,measured,"
      "chosen\n";
  const auto boundary = places(report.boundary), gain = places(report.gain);
  const auto chosen = places(report.chosen());
  for (std::size_t i = 0; i < report.profiles.size(); ++i) {
    const LayerProfile& p = report.profiles[i];
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", p.tensor, p.role, p.layer,
                    p.size, report.boundary.scores[i], boundary[i], p.upper_share(),
                    p.lower_share(report.lower), p.lower_share(LowerBoundary::flushed),
                    p.lower_share(LowerBoundary::least_magnitude), p.lower_share(LowerBoundary::subnormal),
                    report.gain.scores[i], gain[i], p.mean_gamma(), p.measured_reduction(),
                    p.measured_saving(), p.samples, p.measured, chosen[i] <= report.chosen().chosen ? 1 : 0);
  }
  return text;
}

std::string selection_text(const ProfileReport& report, const std::string& origin) {
  const Ranking& ranking = report.chosen();
  std::string text = fmt::format(
      "# Tensors chosen by minigift profile: {} of {}, by {} score.\n# From: {}\n# Use: exchange.NAME.layers "
      "= "
      "\"file:PATH\"\n",
      ranking.chosen, ranking.order.size(), report.chosen_by == ProfileScore::boundary ? "boundary" : "gain",
      origin);
  for (std::size_t i = 0; i < ranking.chosen; ++i) {
    const std::size_t layer = ranking.order[i];
    text += fmt::format("{}  # {:.3e}\n", report.profiles[layer].tensor, ranking.scores[layer]);
  }
  return text;
}

}  // namespace minigift
