#include "miniapp/report/statistics.hpp"

#include <algorithm>
#include <limits>

namespace minigift {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return none;
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double resampled_median(std::span<const double> samples, BootstrapIndices& indices,
                        std::vector<double>& buffer) {
  buffer.resize(samples.size());
  for (double& value : buffer)
    value = samples[indices.next(samples.size())];
  std::sort(buffer.begin(), buffer.end());
  return quantile_of_sorted(buffer, 0.5);
}

Interval percentile_interval(std::vector<double>& statistics) {
  std::sort(statistics.begin(), statistics.end());
  return {quantile_of_sorted(statistics, 0.5 * (1 - bootstrap_level)),
          quantile_of_sorted(statistics, 0.5 * (1 + bootstrap_level))};
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return quantile_of_sorted(sorted, q);
}

double median(std::span<const double> samples) {
  return quantile(samples, 0.5);
}

std::size_t BootstrapIndices::next(std::size_t size) {
  state_ += 0x9E3779B97F4A7C15ull;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return static_cast<std::size_t>(((z >> 32) * static_cast<std::uint64_t>(size)) >> 32);
}

Interval bootstrap_median(std::span<const double> samples) {
  if (samples.empty()) return {none, none};
  BootstrapIndices indices;
  std::vector<double> medians, buffer;
  for (int i = 0; i < bootstrap_resamples; ++i)
    medians.push_back(resampled_median(samples, indices, buffer));
  return percentile_interval(medians);
}

Interval bootstrap_median_ratio(std::span<const double> baseline, std::span<const double> current) {
  if (baseline.empty() || current.empty()) return {none, none};
  BootstrapIndices indices;
  std::vector<double> ratios, buffer;
  for (int i = 0; i < bootstrap_resamples; ++i) {
    const double before = resampled_median(baseline, indices, buffer);
    ratios.push_back(resampled_median(current, indices, buffer) / before);
  }
  return percentile_interval(ratios);
}

}  // namespace minigift
