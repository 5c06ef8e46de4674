#include "kernels/geometry/dense.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/geometry/damped_power.hpp"
#include "kernels/geometry/entries.hpp"
#include "kernels/geometry/moment.hpp"
#include "kernels/geometry/scale.hpp"
#include "kernels/geometry/spectrum.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace minigift {
namespace {

using geometry::DampedPower;
using geometry::HostMoment;

/// The eigendecompositions of the diagonal blocks.
struct BlockSpectrum {
  std::vector<Matrix<double>> vectors;
  std::vector<std::vector<double>> values;

  std::vector<double> all_values() const {
    std::vector<double> all;
    for (const std::vector<double>& block : values)
      all.insert(all.end(), block.begin(), block.end());
    return all;
  }
};

BlockSpectrum decompose(const HostMoment& a, const DenseWhitening& layout) {
  BlockSpectrum spectrum;
  for (std::int64_t block = 0; block < layout.block_count(); ++block) {
    const Matrix<double> vectors =
        geometry::diagonal_block(a, block * layout.width, layout.block_width(block));
    const Vector<double> values("minigift::block_values", vectors.extent(0));
    symmetric_eigen(vectors, values);
    const auto host = on_host(values);
    spectrum.vectors.push_back(vectors);
    spectrum.values.emplace_back(host.data(), host.data() + host.size());
  }
  return spectrum;
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
  copy(scaled, vectors);
  geometry::scale_columns<double>(scaled, gain);
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
  std::vector<double> spectrum;
  for (std::int64_t i = 0; i < d; ++i)
    spectrum.push_back(a(i, i));
  const DampedPower power(spectrum, trace / static_cast<double>(d), options);
  DenseWhitening whitening = with_layout(d, 1);
  whitening.is_identity = false;
  const auto transform = host_like(whitening.transform);
  const auto inverse = host_like(whitening.inverse);
  for (std::int64_t i = 0; i < d; ++i) {
    transform(i) = static_cast<float>(power.forward(a(i, i)));
    inverse(i) = static_cast<float>(1 / static_cast<double>(transform(i)));
  }
  copy(whitening.transform, transform);
  copy(whitening.inverse, inverse);
  return whitening;
}

/// T = A_damped^{-1/2} by Cholesky for one diagonal block, normalised.
void store_damped_cholesky(const HostMoment& a, const DampedPower& power, std::int64_t block,
                           const DenseWhitening& whitening) {
  const Matrix<double> lower =
      geometry::diagonal_block(a, block * whitening.width, whitening.block_width(block));
  add_to_diagonal(lower, power.damping());
  cholesky_lower(lower);
  store_cholesky(lower, std::sqrt(power.scale()), whitening.block(Direction::forward, block),
                 whitening.block(Direction::inverse, block));
}

void check_cholesky_exponent(const WhiteningOptions& options) {
  require(options.exponent == 0.5,
          "whitening: the Cholesky root is a square root, the exponent must be 0.5, not {}",
          options.exponent);
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
  const double trace = geometry::check_moment(moment);
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
  if (root == Root::cholesky) check_cholesky_exponent(options);
  const auto moment = on_host(a);
  const double trace = geometry::check_moment(moment);
  const std::int64_t d = extent(a, 0);
  if (!(trace > 0)) return identity_whitening(d);

  DenseWhitening whitening = with_layout(d, std::min(width, d));
  whitening.is_identity = false;
  const BlockSpectrum spectrum = decompose(moment, whitening);
  const DampedPower power(spectrum.all_values(), trace / static_cast<double>(d), options);
  for (std::int64_t block = 0; block < whitening.block_count(); ++block) {
    if (root == Root::cholesky) {
      store_damped_cholesky(moment, power, block, whitening);
      continue;
    }
    const auto index = static_cast<std::size_t>(block);
    std::vector<double> gains, inverse_gains;
    for (const double value : spectrum.values[index]) {
      gains.push_back(power.forward(value));
      inverse_gains.push_back(power.inverse(value));
    }
    store_symmetric(spectrum.vectors[index], gains, whitening.block(Direction::forward, block));
    store_symmetric(spectrum.vectors[index], inverse_gains, whitening.block(Direction::inverse, block));
  }
  return whitening;
}

DenseWhitening make_cholesky_whitening(const Matrix<const double>& a, const Spectrum& spectrum,
                                       const WhiteningOptions& options) {
  check_whitening_options(options);
  check_cholesky_exponent(options);
  const auto moment = on_host(a);
  const double trace = geometry::check_moment(moment);
  const std::int64_t d = extent(a, 0);
  require(spectrum.dimension() == d, "whitening of dimension {}: the spectrum has dimension {}", d,
          spectrum.dimension());
  if (!(trace > 0)) return identity_whitening(d);
  DenseWhitening whitening = with_layout(d, d);
  whitening.is_identity = false;
  const DampedPower power(spectrum.values, trace / static_cast<double>(d), options);
  store_damped_cholesky(moment, power, 0, whitening);
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
