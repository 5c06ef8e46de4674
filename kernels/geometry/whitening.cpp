#include "kernels/geometry/whitening.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/geometry/entries.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/workspace.hpp"

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

/// What stands for the spectrum outside the leading directions, before damping.
double completed_tail(const LowRankFactor& factor, Completion completion) {
  const auto d = static_cast<double>(factor.dimension), r = static_cast<double>(factor.eigenvalues.size());
  const double mean = factor.trace / d, edge = factor.eigenvalues.back();
  switch (completion) {
    case Completion::edge:
      return edge;
    case Completion::mean:
      return mean;
    case Completion::tail:
      break;
  }
  if (d == r) return edge;  // nothing is outside
  double rest = factor.trace;
  for (const double value : factor.eigenvalues)
    rest -= value;
  return std::max(rest / (d - r), 1e-4 * mean);
}

}  // namespace

void check_whitening_options(const WhiteningOptions& options) {
  require(options.exponent > 0 && options.exponent <= 1, "whitening exponent {} is not in (0, 1]",
          options.exponent);
  require(options.damping >= 0 && std::isfinite(options.damping),
          "whitening damping {} is not finite and >= 0", options.damping);
  require(options.condition_cap >= 1, "whitening condition cap {} is less than 1", options.condition_cap);
}

LowRankWhitening make_low_rank_whitening(const LowRankFactor& factor, const WhiteningOptions& options) {
  check_whitening_options(options);
  const auto d = static_cast<std::size_t>(factor.dimension);
  if (factor.eigenvalues.empty() || !(factor.trace > 0))
    return {Matrix<float>("minigift::basis", d, 0), Vector<float>("minigift::forward", 0),
            Vector<float>("minigift::inverse", 0), true};
  require(std::isfinite(factor.trace), "whitening of dimension {}: the trace is {}", d, factor.trace);
  for (const double value : factor.eigenvalues)
    require(std::isfinite(value) && value > 0, "whitening of dimension {}: eigenvalue {}", d, value);
  require(factor.basis.extent(0) == d && factor.basis.extent(1) == factor.eigenvalues.size(),
          "whitening of dimension {}: {} eigenvalues, basis ({}, {})", d, factor.eigenvalues.size(),
          factor.basis.extent(0), factor.basis.extent(1));

  const double mean = factor.trace / static_cast<double>(factor.dimension);
  const double damping = options.absolute_damping ? options.damping : options.damping * mean;
  const double largest = factor.eigenvalues.front() + damping;
  const double tail = std::max(completed_tail(factor, options.completion) + damping,
                               largest / (options.condition_cap * options.condition_cap));
  const std::size_t rank = factor.eigenvalues.size();
  LowRankWhitening whitening{factor.basis, Vector<float>("minigift::forward", rank),
                             Vector<float>("minigift::inverse", rank), false};
  const auto forward = host_like(whitening.forward);
  const auto inverse = host_like(whitening.inverse);
  for (std::size_t i = 0; i < rank; ++i) {
    const double gain = std::pow(tail / (factor.eigenvalues[i] + damping), options.exponent);
    forward(i) = static_cast<float>(gain - 1);
    // From the rounded value, so that (1 + D)(1 + E) = 1 holds for the numbers that are used.
    inverse(i) = static_cast<float>(1 / (1 + static_cast<double>(forward(i))) - 1);
  }
  copy(whitening.forward, forward);
  copy(whitening.inverse, inverse);
  return whitening;
}

void apply_low_rank(const Matrix<float>& w, const Matrix<const float>& basis, const Vector<const float>& gain,
                    Vector<float>& workspace) {
  const std::int64_t m = extent(w, 0), rank = extent(basis, 1);
  require(extent(basis, 0) == extent(w, 1) && size(gain) == rank,
          "low-rank transform: basis ({}, {}) and {} gains do not fit a matrix of shape ({}, {})",
          extent(basis, 0), rank, size(gain), m, extent(w, 1));
  if (m == 0 || rank == 0) return;
  reserve(workspace, m * rank);
  const Matrix<float> coefficients = slice(workspace, 0, m, rank);
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, w, basis, 0.0f, coefficients);
  geometry::for_each_entry(
      "minigift::low_rank_gain", m, rank,
      KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) { coefficients(i, j) *= gain(j); });
  gemm<float, float>(Transpose::no, Transpose::yes, 1.0f, coefficients, basis, 1.0f, w);
}

void inverse_row_norms(const LowRankWhitening& whitening, const Vector<double>& norms) {
  const Matrix<const float> basis = whitening.basis;
  const Vector<const float> gain = whitening.inverse;
  const std::int64_t d = extent(basis, 0), rank = extent(basis, 1);
  require(size(norms) == d && size(gain) == rank, "row norms: basis ({}, {}), {} gains, room for {} norms", d,
          rank, size(gain), size(norms));
  Kokkos::parallel_for(
      "minigift::low_rank_row_norms", range(d), KOKKOS_LAMBDA(const std::int64_t j) {
        double sum = 1;
        for (std::int64_t i = 0; i < rank; ++i) {
          const double e = gain(i), component = basis(j, i);
          sum += (2 * e + e * e) * component * component;
        }
        norms(j) = sum;
      });
}

}  // namespace minigift
