#include "kernels/geometry/moment.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"

#include <algorithm>
#include <cmath>

namespace minigift::geometry {

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
