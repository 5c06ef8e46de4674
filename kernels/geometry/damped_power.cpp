#include "kernels/geometry/damped_power.hpp"

#include <algorithm>
#include <cmath>

namespace minigift::geometry {
namespace {

double effective_damping(const std::vector<double>& spectrum, double mean, const WhiteningOptions& options) {
  const auto [least, most] = std::minmax_element(spectrum.begin(), spectrum.end());
  const double smallest = std::max(*least, 0.0), largest = std::max(*most, 0.0);
  const double asked = options.absolute_damping ? options.damping : options.damping * mean;
  const double cap = options.condition_cap * options.condition_cap;
  if (cap <= 1) return std::max(asked, 1e8 * largest);
  return std::max(asked, (largest - cap * smallest) / (cap - 1));
}

}  // namespace

DampedPower::DampedPower(const std::vector<double>& spectrum, double mean, const WhiteningOptions& options)
    : damping_(effective_damping(spectrum, mean, options)), mean_log_(0), exponent_(options.exponent) {
  for (const double lambda : spectrum)
    mean_log_ += std::log(std::max(lambda, 0.0) + damping_) / static_cast<double>(spectrum.size());
}

double DampedPower::inverse(double lambda) const {
  return std::exp(exponent_ * (std::log(std::max(lambda, 0.0) + damping_) - mean_log_));
}

double DampedPower::forward(double lambda) const {
  return 1 / inverse(lambda);
}

double DampedPower::scale() const {
  return std::exp(mean_log_);
}

}  // namespace minigift::geometry
