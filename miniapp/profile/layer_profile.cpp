#include "miniapp/profile/layer_profile.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace minigift {
namespace {

/// Ranks from 1, ties with their mean.
std::vector<double> mean_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    for (std::size_t i = begin; i < end; ++i)
      ranks[order[i]] = 0.5 * static_cast<double>(begin + 1 + end);
    begin = end;
  }
  return ranks;
}

}  // namespace

std::string name(LowerBoundary lower) {
  switch (lower) {
    case LowerBoundary::least_magnitude:
      return "least";
    case LowerBoundary::flushed:
      return "flushed";
    case LowerBoundary::subnormal:
      break;
  }
  return "subnormal";
}

void LayerProfile::add(const BoundaryCounts& counts) {
  const double elements = static_cast<double>(counts.elements);
  if (counts.elements == 0) return;
  upper += static_cast<double>(counts.upper) / elements;
  flushed += static_cast<double>(counts.flushed) / elements;
  subnormal += static_cast<double>(counts.subnormal + counts.flushed) / elements;
  least += static_cast<double>(counts.lower) / elements;
  samples += 1;
}

void LayerProfile::add(const OneStepRow& euclidean, const OneStepRow& transformed) {
  const double closed = gamma_or_nan(transformed.gamma);
  gain += (1.0 - closed * closed) * transformed.gamma.norm_squared / static_cast<double>(size);
  gamma += closed;
  const double before = euclidean.sums.relative_l2();
  reduction += before > 0 ? 1.0 - transformed.sums.relative_l2() / before : 0.0;
  saved += (euclidean.sums.difference - transformed.sums.difference) / static_cast<double>(size);
  measured += 1;
}

double LayerProfile::lower_share(LowerBoundary lower) const {
  switch (lower) {
    case LowerBoundary::least_magnitude:
      return least / static_cast<double>(samples);
    case LowerBoundary::flushed:
      return flushed / static_cast<double>(samples);
    case LowerBoundary::subnormal:
      break;
  }
  return subnormal / static_cast<double>(samples);
}

Ranking rank_layers(const std::vector<double>& scores, std::int64_t top) {
  Ranking ranking;
  ranking.scores = scores;
  ranking.order.resize(scores.size());
  std::iota(ranking.order.begin(), ranking.order.end(), std::size_t{0});
  std::stable_sort(ranking.order.begin(), ranking.order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::size_t positive = 0;
  while (positive < scores.size() && scores[ranking.order[positive]] > 0)
    ++positive;
  if (top > 0) {
    ranking.chosen = std::min(positive, static_cast<std::size_t>(top));
    return ranking;
  }
  // The cut comes behind place i, for i in the upper half, where the next score is the smallest part of this
  // one.
  const std::size_t half = (scores.size() + 1) / 2;
  for (std::size_t i = 0; i < std::min(positive, half); ++i) {
    const double here = scores[ranking.order[i]];
    const double next = i + 1 < scores.size() ? scores[ranking.order[i + 1]] : 0.0;
    const double drop = next > 0 ? here / next : std::numeric_limits<double>::infinity();
    if (drop <= ranking.drop) continue;
    ranking.drop = drop;
    ranking.chosen = i + 1;
  }
  return ranking;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  require(a.size() == b.size(), "{} values cannot be correlated with {}", a.size(), b.size());
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (a.size() < 3) return none;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return none;
  }
  const std::vector<double> x = mean_ranks(a), y = mean_ranks(b);
  const double mean = 0.5 * static_cast<double>(a.size() + 1);
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : none;
}

}  // namespace minigift
