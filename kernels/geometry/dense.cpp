#include "kernels/geometry/dense.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/geometry/entries.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace minigift {
namespace {

using HostMoment = Kokkos::View<const double**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Finite and symmetric to rounding. Returns the trace.
double check_moment(const HostMoment& a) {
  const std::int64_t d = extent(a, 0);
  require(extent(a, 1) == d, "whitening: the second moment is not square but ({}, {})", d, extent(a, 1));
  double trace = 0, largest = 0;
  for (std::int64_t i = 0; i < d; ++i) {
    for (std::int64_t j = 0; j < d; ++j) {
      require(std::isfinite(a(i, j)),
              "whitening of dimension {}: element ({}, {}) of the second moment is {}", d, i, j, a(i, j));
      largest = std::max(largest, std::abs(a(i, j)));
    }
    trace += a(i, i);
  }
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < i; ++j)
      require(std::abs(a(i, j) - a(j, i)) <= 1e-6 * largest,
              "whitening of dimension {}: the second moment is not symmetric at ({}, {})", d, i, j);
  return trace;
}

/// The eigendecompositions of the diagonal blocks, eigenvalues below zero taken as zero.
struct BlockSpectrum {
  std::vector<Matrix<double>> vectors;
  std::vector<std::vector<double>> values;
  double smallest = 0, largest = 0;
};

Matrix<double> diagonal_block(const HostMoment& a, std::int64_t first, std::int64_t width) {
  const auto extent_of_block = static_cast<std::size_t>(width);
  const Matrix<double> block("minigift::moment_block", extent_of_block, extent_of_block);
  const auto host = host_like(block);
  for (std::int64_t i = 0; i < width; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      host(i, j) = 0.5 * (a(first + i, first + j) + a(first + j, first + i));
  copy(block, host);
  return block;
}

BlockSpectrum decompose(const HostMoment& a, const DenseWhitening& layout) {
  BlockSpectrum spectrum;
  for (std::int64_t block = 0; block < layout.block_count(); ++block) {
    const Matrix<double> vectors = diagonal_block(a, block * layout.width, layout.block_width(block));
    const Vector<double> values("minigift::block_values", vectors.extent(0));
    symmetric_eigen(vectors, values);
    const auto host = on_host(values);
    std::vector<double> lambda;
    for (std::int64_t i = 0; i < extent(host, 0); ++i)
      lambda.push_back(std::max(host(i), 0.0));
    spectrum.smallest = block == 0 ? lambda.front() : std::min(spectrum.smallest, lambda.front());
    spectrum.largest = std::max(spectrum.largest, lambda.back());
    spectrum.vectors.push_back(vectors);
    spectrum.values.push_back(std::move(lambda));
  }
  return spectrum;
}

/// The damping that the options ask for, raised to keep (largest + x) / (smallest + x) <= cap^2.
double effective_damping(const BlockSpectrum& spectrum, double mean, const WhiteningOptions& options) {
  const double asked = options.absolute_damping ? options.damping : options.damping * mean;
  const double cap = options.condition_cap * options.condition_cap;
  if (cap <= 1) return std::max(asked, 1e8 * spectrum.largest);
  return std::max(asked, (spectrum.largest - cap * spectrum.smallest) / (cap - 1));
}

/// to = factor V diag(gains) V^T in FP32.
void store_symmetric(const Matrix<double>& vectors, const std::vector<double>& gains,
                     const Matrix<float>& to) {
  const std::int64_t n = extent(vectors, 0);
  const Matrix<double> scaled("minigift::scaled", vectors.extent(0), vectors.extent(1));
  const Matrix<double> result("minigift::power", vectors.extent(0), vectors.extent(1));
  const Vector<double> gain("minigift::gain", gains.size());
  const auto host = host_like(gain);
  for (std::size_t i = 0; i < gains.size(); ++i)
    host(i) = gains[i];
  copy(gain, host);
  geometry::for_each_entry(
      "minigift::scale_columns", n, n,
      KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) { scaled(i, j) = vectors(i, j) * gain(j); });
  gemm<double, double>(Transpose::no, Transpose::yes, 1.0, scaled, vectors, 0.0, result);
  geometry::for_each_entry(
      "minigift::store_symmetric", n, n, KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) {
        to(i, j) = static_cast<float>(0.5 * (result(i, j) + result(j, i)));
      });
}

/// T = factor L^{-T} and T^{-1} = L^T / factor for one damped block.
void store_cholesky(const Matrix<double>& lower, double factor, const Matrix<float>& transform,
                    const Matrix<float>& inverse) {
  const std::int64_t n = extent(lower, 0);
  const Matrix<double> solution("minigift::inverse_triangle", lower.extent(0), lower.extent(1));
  Kokkos::parallel_for(
      "minigift::set_identity", range(n), KOKKOS_LAMBDA(const std::int64_t i) { solution(i, i) = 1; });
  solve_lower_transposed_right<double>(lower, solution);
  geometry::for_each_entry(
      "minigift::store_cholesky", n, n, KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) {
        transform(i, j) = static_cast<float>(factor * solution(i, j));
        inverse(i, j) = static_cast<float>(lower(j, i) / factor);
      });
}

void add_to_diagonal(const Matrix<double>& a, double value) {
  Kokkos::parallel_for(
      "minigift::add_to_diagonal", range(extent(a, 0)),
      KOKKOS_LAMBDA(const std::int64_t i) { a(i, i) += value; });
}

DenseWhitening with_layout(std::int64_t d, std::int64_t width) {
  DenseWhitening whitening;
  whitening.dimension = d;
  whitening.width = width;
  std::int64_t stored = 0;
  for (std::int64_t block = 0; block < whitening.block_count(); ++block)
    stored += whitening.block_width(block) * whitening.block_width(block);
  whitening.transform = Vector<float>("minigift::transform", static_cast<std::size_t>(stored));
  whitening.inverse = Vector<float>("minigift::inverse", static_cast<std::size_t>(stored));
  return whitening;
}

/// Diagonal form: the eigenvalues are the elements themselves.
DenseWhitening diagonal_from(const HostMoment& a, double trace, const WhiteningOptions& options) {
  const std::int64_t d = extent(a, 0);
  BlockSpectrum spectrum;
  spectrum.smallest = a(0, 0);
  for (std::int64_t i = 0; i < d; ++i) {
    spectrum.smallest = std::min(spectrum.smallest, std::max(a(i, i), 0.0));
    spectrum.largest = std::max(spectrum.largest, a(i, i));
  }
  const double damping = effective_damping(spectrum, trace / static_cast<double>(d), options);
  double mean_log = 0;
  for (std::int64_t i = 0; i < d; ++i)
    mean_log += std::log(std::max(a(i, i), 0.0) + damping) / static_cast<double>(d);
  DenseWhitening whitening = with_layout(d, 1);
  whitening.is_identity = false;
  const auto transform = host_like(whitening.transform);
  const auto inverse = host_like(whitening.inverse);
  for (std::int64_t i = 0; i < d; ++i) {
    const double gain = std::exp(options.exponent * (std::log(std::max(a(i, i), 0.0) + damping) - mean_log));
    transform(i) = static_cast<float>(1 / gain);
    inverse(i) = static_cast<float>(1 / static_cast<double>(transform(i)));
  }
  copy(whitening.transform, transform);
  copy(whitening.inverse, inverse);
  return whitening;
}

}  // namespace

std::int64_t DenseWhitening::block_count() const {
  return width == 0 ? 0 : (dimension + width - 1) / width;
}

std::int64_t DenseWhitening::block_width(std::int64_t block) const {
  return std::min(width, dimension - block * width);
}

Matrix<float> DenseWhitening::block(Direction direction, std::int64_t block) const {
  const std::int64_t extent_of_block = block_width(block);
  return slice(direction == Direction::forward ? transform : inverse, block * width * width, extent_of_block,
               extent_of_block);
}

DenseWhitening identity_whitening(std::int64_t d) {
  DenseWhitening whitening = with_layout(d, 1);
  fill(whitening.transform, 1.0f);
  fill(whitening.inverse, 1.0f);
  return whitening;
}

DenseWhitening make_diagonal_whitening(const Matrix<const double>& a, const WhiteningOptions& options) {
  check_whitening_options(options);
  const auto moment = on_host(a);
  const double trace = check_moment(moment);
  if (!(trace > 0)) return identity_whitening(extent(a, 0));
  return diagonal_from(moment, trace, options);
}

DenseWhitening make_full_whitening(const Matrix<const double>& a, const WhiteningOptions& options,
                                   Root root) {
  return make_block_whitening(a, std::max<std::int64_t>(extent(a, 0), 1), options, root);
}

DenseWhitening make_block_whitening(const Matrix<const double>& a, std::int64_t width,
                                    const WhiteningOptions& options, Root root) {
  check_whitening_options(options);
  require(width >= 1, "whitening: the block width must be at least 1, not {}", width);
  require(root == Root::symmetric || options.exponent == 0.5,
          "whitening: the Cholesky root is a square root, the exponent must be 0.5, not {}",
          options.exponent);
  const auto moment = on_host(a);
  const double trace = check_moment(moment);
  const std::int64_t d = extent(a, 0);
  if (!(trace > 0)) return identity_whitening(d);

  DenseWhitening whitening = with_layout(d, std::min(width, d));
  whitening.is_identity = false;
  const BlockSpectrum spectrum = decompose(moment, whitening);
  const double damping = effective_damping(spectrum, trace / static_cast<double>(d), options);
  double mean_log = 0;  // of the damped eigenvalues: det T = 1 when they are divided by their geometric mean
  for (const std::vector<double>& values : spectrum.values)
    for (const double value : values)
      mean_log += std::log(value + damping) / static_cast<double>(d);

  for (std::int64_t block = 0; block < whitening.block_count(); ++block) {
    const auto index = static_cast<std::size_t>(block);
    const Matrix<float> transform = whitening.block(Direction::forward, block);
    const Matrix<float> inverse = whitening.block(Direction::inverse, block);
    if (root == Root::cholesky) {
      const Matrix<double> lower =
          diagonal_block(moment, block * whitening.width, whitening.block_width(block));
      add_to_diagonal(lower, damping);
      cholesky_lower(lower);
      store_cholesky(lower, std::exp(0.5 * mean_log), transform, inverse);
      continue;
    }
    std::vector<double> gains, inverse_gains;
    for (const double value : spectrum.values[index]) {
      const double gain = std::exp(options.exponent * (std::log(value + damping) - mean_log));
      gains.push_back(1 / gain);
      inverse_gains.push_back(gain);
    }
    store_symmetric(spectrum.vectors[index], gains, transform);
    store_symmetric(spectrum.vectors[index], inverse_gains, inverse);
  }
  return whitening;
}

Matrix<double> second_moment(const Matrix<const float>& x) {
  const std::int64_t rows = extent(x, 0), d = extent(x, 1);
  const Matrix<double> moment("minigift::second_moment", x.extent(1), x.extent(1));
  if (rows == 0) return moment;
  constexpr std::int64_t most_rows = 1024;  // widened at a time
  const Matrix<double> wide("minigift::widened_rows", static_cast<std::size_t>(std::min(rows, most_rows)),
                            x.extent(1));
  for (std::int64_t first = 0; first < rows; first += most_rows) {
    const std::int64_t count = std::min(most_rows, rows - first);
    const Matrix<double> part = slice(flatten(wide), 0, count, d);
    geometry::for_each_entry(
        "minigift::widen_rows", count, d, KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) {
          part(i, j) = static_cast<double>(x(first + i, j));
        });
    gemm<double, double>(Transpose::yes, Transpose::no, 1 / static_cast<double>(rows), part, part, 1.0,
                         moment);
  }
  Kokkos::parallel_for(
      "minigift::symmetrise_moment", range(d), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t j = 0; j < i; ++j)
          moment(j, i) = moment(i, j);
      });
  return moment;
}

}  // namespace minigift
