#pragma once
// How vulnerable each layer's gradient is to FP8, by two scores, and the layers chosen by one of them.
//
//   boundary  mean over ranks and steps of the share of codes at the upper and at the lower boundary of the
//   format
//             (GIFT, arXiv:2607.07494, section V-C)
//   gain      mean over steps of (1 - gamma^2) ||W||^2 / size: the squared error that coordinates save, per
//   element,
//             in units of the format's squared rounding error (kernels/geometry/gamma.hpp)

#include "kernels/format/boundary_counts.hpp"
#include "miniapp/fidelity/one_step.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// Which codes are at the lower boundary; the paper does not say.
enum class LowerBoundary {
  least_magnitude,  ///< x != 0 and |q| at most the smallest subnormal: zero or the code next to it
  flushed,          ///< x != 0 and q = 0
  subnormal         ///< x != 0 and |q| below the smallest normal, zero included
};
/// "least", "flushed", "subnormal"
std::string name(LowerBoundary lower);

enum class ProfileScore { boundary, gain };

struct LayerProfile {
  std::string tensor, role;
  std::int64_t layer = -1, size = 0;

  // Sums over samples: one per rank and step, one per measured step.
  double upper = 0, flushed = 0, subnormal = 0, least = 0;  ///< shares of the elements
  std::int64_t samples = 0;
  double gain = 0, gamma = 0, reduction = 0, saved = 0;
  std::int64_t measured = 0;

  void add(const BoundaryCounts& counts);
  /// `euclidean` and `transformed` are the two round trips of one mean gradient.
  void add(const OneStepRow& euclidean, const OneStepRow& transformed);

  double upper_share() const { return upper / static_cast<double>(samples); }
  double lower_share(LowerBoundary lower) const;
  double boundary_score(LowerBoundary lower) const { return upper_share() + lower_share(lower); }
  double gain_score() const { return gain / static_cast<double>(measured); }
  double mean_gamma() const { return gamma / static_cast<double>(measured); }
  /// 1 - RelL2(transformed) / RelL2(euclidean), measured: what the coordinates are worth to this layer.
  double measured_reduction() const { return reduction / static_cast<double>(measured); }
  /// (||error without||^2 - ||error with||^2) / size, measured: what they are worth to the whole gradient,
  /// per element.
  double measured_saving() const { return saved / static_cast<double>(measured); }
};

/// Layers by falling score, and how many of them are chosen.
struct Ranking {
  std::vector<std::size_t> order;  ///< indices of the profiles
  std::vector<double> scores;      ///< of the profiles, in their own order
  std::size_t chosen = 0;          ///< the first so many of `order`
  double drop = 0;  ///< score before the cut over score behind it; 0 where a number was asked for
};

/// Cuts at `top` layers, or for 0 at the visible drop: the largest ratio of consecutive scores within the top
/// half. Ties keep the model's order. Layers with score 0 are never chosen.
Ranking rank_layers(const std::vector<double>& scores, std::int64_t top);

/// Spearman's rank correlation, ties sharing their mean rank; NaN for fewer than 3 values or without
/// variation.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace minigift
