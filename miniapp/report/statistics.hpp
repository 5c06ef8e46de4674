#pragma once
// Statistics of repeated measurements. Deterministic: the bootstrap's random numbers come from a fixed seed,
// so that a table can be recomputed from its samples, in any language.

#include <cstdint>
#include <span>
#include <vector>

namespace minigift {

/// Quantile q in [0, 1], interpolated linearly between the neighbours in order ((n - 1) q of the way). NaN
/// without samples.
double quantile(std::span<const double> samples, double q);
double median(std::span<const double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};

/// Number of resamples, and the interval's probability.
inline constexpr int bootstrap_resamples = 2000;
inline constexpr double bootstrap_level = 0.95;

/// Random indices of the bootstrap: the n-th number, n = 0, 1, ..., of SplitMix64 with this seed; an index
/// below `size` is its upper 32 bits times size, shifted right by 32. (G. Steele, D. Lea, C. Flood, "Fast
/// Splittable Pseudorandom Number Generators", 2014.)
class BootstrapIndices {
 public:
  explicit BootstrapIndices(std::uint64_t seed = 1) : state_(seed) {}
  std::size_t next(std::size_t size);

 private:
  std::uint64_t state_;
};

/// Percentile bootstrap of the median: of bootstrap_resamples resamples, quantiles (1 - level)/2 and (1 +
/// level)/2 of their medians. (B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993,
/// chapter 13.) One sample gives an interval of no width, none gives NaN.
Interval bootstrap_median(std::span<const double> samples);

/// The same of median(current) / median(baseline), both resampled: first the baseline's indices, then the
/// current ones, in every resample.
Interval bootstrap_median_ratio(std::span<const double> baseline, std::span<const double> current);

}  // namespace minigift
