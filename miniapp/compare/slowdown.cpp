#include "miniapp/compare/slowdown.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace minigift {
namespace {

constexpr std::size_t most_for_exact = 200;

double resampled_median(const SamplesByRun& runs, BootstrapIndices& indices, std::vector<double>& buffer) {
  buffer.clear();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<double>& run = runs[indices.next(runs.size())];
    const std::size_t end = buffer.size() + run.size();
    const std::size_t block = block_length(run.size());
    while (buffer.size() < end) {
      const std::size_t start = indices.next(run.size());
      for (std::size_t j = 0; j < block && buffer.size() < end; ++j)
        buffer.push_back(run[(start + j) % run.size()]);
    }
  }
  return median(buffer);
}

/// Probability of each value u = 0 ... n m of the statistic U if both samples have one distribution: the
/// coefficients of the product over i = 1 ... n of (1 - q^(m+i)) / (1 - q^i), divided by their sum.
std::vector<double> rank_distribution(std::size_t n, std::size_t m) {
  std::vector<double> share(n * m + 1, 0.0);
  share[0] = 1.0;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t u = share.size(); u-- > m + i;)
      share[u] -= share[u - m - i];
    for (std::size_t u = i; u < share.size(); ++u)
      share[u] += share[u - i];
    // Kept a distribution at every stage: the number of arrangements is beyond a double for large samples.
    for (double& value : share)
      value *= static_cast<double>(i) / static_cast<double>(m + i);
  }
  return share;
}

}  // namespace

std::vector<double> pooled(const SamplesByRun& runs) {
  std::vector<double> all;
  for (const std::vector<double>& run : runs)
    all.insert(all.end(), run.begin(), run.end());
  return all;
}

std::size_t block_length(std::size_t samples) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(std::cbrt(samples))));
}

Interval ratio_interval(const SamplesByRun& baseline, const SamplesByRun& current, int resamples) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const auto without_empty = [](SamplesByRun runs) {
    std::erase_if(runs, [](const std::vector<double>& run) { return run.empty(); });
    return runs;
  };
  const SamplesByRun before = without_empty(baseline), after = without_empty(current);
  if (before.empty() || after.empty()) return {none, none};
  BootstrapIndices indices;
  std::vector<double> ratios, buffer;
  for (int i = 0; i < resamples; ++i) {
    const double denominator = resampled_median(before, indices, buffer);
    ratios.push_back(resampled_median(after, indices, buffer) / denominator);
  }
  return {quantile(ratios, 0.5 * (1 - bootstrap_level)), quantile(ratios, 0.5 * (1 + bootstrap_level))};
}

double larger_by_chance(std::span<const double> baseline, std::span<const double> current) {
  if (baseline.empty() || current.empty()) return 1.0;
  double wins = 0.0;  // pairs in which current is the larger; a tie is half a pair
  for (const double before : baseline) {
    for (const double after : current)
      wins += after > before ? 1.0 : after == before ? 0.5 : 0.0;
  }
  std::vector<double> all(baseline.begin(), baseline.end());
  all.insert(all.end(), current.begin(), current.end());
  std::sort(all.begin(), all.end());
  double ties = 0.0;  // sum over groups of t equal samples of t^3 - t
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::upper_bound(first, all.end(), *first);
    const auto t = static_cast<double>(last - first);
    ties += t * t * t - t;
    first = last;
  }
  if (ties == 0.0 && all.size() <= most_for_exact) {
    const std::vector<double> share = rank_distribution(baseline.size(), current.size());
    double probability = 0.0;  // U is symmetric: at least `wins` is as likely as at most n m - wins
    for (std::size_t u = 0; u <= share.size() - 1 - static_cast<std::size_t>(wins); ++u)
      probability += share[u];
    return std::min(1.0, probability);
  }
  const auto n = static_cast<double>(baseline.size()), m = static_cast<double>(current.size());
  const double variance = n * m / 12.0 * (n + m + 1.0 - ties / ((n + m) * (n + m - 1.0)));
  if (!(variance > 0.0)) return 1.0;
  return 0.5 * std::erfc((wins - 0.5 * n * m - 0.5) / std::sqrt(2.0 * variance));
}

double least_chance(std::size_t baseline, std::size_t current) {
  double chance = 1.0;  // n! m! / (n + m)!
  for (std::size_t i = 1; i <= baseline; ++i)
    chance *= static_cast<double>(i) / static_cast<double>(current + i);
  return chance;
}

}  // namespace minigift
