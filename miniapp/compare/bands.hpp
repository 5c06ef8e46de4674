#pragma once
// By how much a metric may become slower before it is a regression: a relative band, per system and metric.

#include <map>
#include <string>
#include <vector>

namespace minigift {

struct Bands {
  double standard = 0.05;  ///< of every metric that is not named
  std::map<std::string, double> metrics = {};
  std::string file = {};  ///< where they were read; empty: the built-in ones

  double of(const std::string& metric) const;
};

/// Reads a TOML file with one table, [bands]: `default = 0.05`, `step_seconds = 0.03`, ... Throws UsageError
/// with FILE:LINE:COLUMN for a name that is neither a metric of this program nor one of `further_metrics`,
/// and for a value that is no number from 0 to 10.
Bands read_bands(const std::string& file, const std::vector<std::string>& further_metrics);

/// The file that applies to a baseline: `bands.toml` in its folder or, for a file, beside it; empty if there
/// is none.
std::string bands_file_of(const std::string& baseline);

}  // namespace minigift
