#include "kernels/geometry/moment.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"

#include <algorithm>
#include <cmath>

namespace minigift::geometry {

namespace {

/// The largest magnitude. Throws for an element that is not finite.
double largest_magnitude(const HostMoment& a) {
  const std::int64_t d = extent(a, 0);
  double largest = 0;
  for (std::int64_t i = 0; i < d; ++i) {
    const double* const row = &a(i, 0);
    double residue = 0;  // stays zero unless an element is not finite
#pragma omp simd reduction(+ : residue) reduction(max : largest)
    for (std::int64_t j = 0; j < d; ++j) {
      const double magnitude = std::abs(row[j]);
      residue += magnitude - magnitude;
      largest = magnitude > largest ? magnitude : largest;
    }
    for (std::int64_t j = 0; residue != 0 && j < d; ++j)
      require(std::isfinite(row[j]), "whitening of dimension {}: element ({}, {}) of the second moment is {}",
              d, i, j, row[j]);
  }
  return largest;
}

/// By tiles, so that neither of the two elements that are compared comes from far away.
void check_symmetric(const HostMoment& a, double tolerance) {
  constexpr std::int64_t tile = 32;
  const std::int64_t d = extent(a, 0);
  for (std::int64_t rows = 0; rows < d; rows += tile)
    for (std::int64_t columns = 0; columns <= rows; columns += tile)
      for (std::int64_t i = rows; i < std::min(rows + tile, d); ++i)
        for (std::int64_t j = columns; j < std::min(columns + tile, i); ++j)
          require(std::abs(a(i, j) - a(j, i)) <= tolerance,
                  "whitening of dimension {}: the second moment is not symmetric at ({}, {})", d, i, j);
}

}  // namespace

double check_moment(const HostMoment& a) {
  const std::int64_t d = extent(a, 0);
  require(extent(a, 1) == d, "whitening: the second moment is not square but ({}, {})", d, extent(a, 1));
  check_symmetric(a, 1e-6 * largest_magnitude(a));
  double trace = 0;
  for (std::int64_t i = 0; i < d; ++i)
    trace += a(i, i);
  return trace;
}

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

}  // namespace minigift::geometry
