#pragma once
// By how much one set of samples is slower than another, with its uncertainty. README.md says why so.

#include "miniapp/report/statistics.hpp"

#include <span>
#include <vector>

namespace minigift {

/// Finite samples of one metric, one vector per run, in the order in which they were taken.
using SamplesByRun = std::vector<std::vector<double>>;

std::vector<double> pooled(const SamplesByRun& runs);

/// Percentile interval, level bootstrap_level, of median(current) / median(baseline) over all samples. One
/// resample draws, of each side, as many runs as it has, and in a run drawn as many samples as it has, in
/// blocks of block_length neighbours (around the end). Deterministic. NaN without samples.
Interval ratio_interval(const SamplesByRun& baseline, const SamplesByRun& current,
                        int resamples = bootstrap_resamples);

/// Samples of one run that are drawn together: the cube root of their number, rounded.
std::size_t block_length(std::size_t samples);

/// One-sided Mann-Whitney test: the probability, if both came from one distribution, that as many pairs or
/// more (baseline, current) have current > baseline. Exact for up to 200 samples without ties; otherwise the
/// normal approximation with the corrections for ties and continuity. 1 if a side has no sample. (H. Mann,
/// D. Whitney, "On a test of whether one of two random variables is stochastically larger than the other",
/// 1947.)
double larger_by_chance(std::span<const double> baseline, std::span<const double> current);

/// The smallest value that larger_by_chance can have with so many samples (without ties).
double least_chance(std::size_t baseline, std::size_t current);

}  // namespace minigift
