// Products with block-diagonal transforms, from either side.

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/geometry/dense.hpp"
#include "kernels/geometry/entries.hpp"
#include "kernels/geometry/scale.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"

#include <algorithm>

namespace minigift {
namespace {

/// Columns first ... first + b of w to a contiguous matrix, or back.
void gather_columns(const Matrix<const float>& w, std::int64_t first, const Matrix<float>& part) {
  const std::int64_t width = extent(part, 1);
  geometry::for_each_entry(
      "minigift::gather_columns", extent(part, 0), width,
      KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) { part(i, j) = w(i, first + j); });
}
void scatter_columns(const Matrix<const float>& part, std::int64_t first, const Matrix<float>& w) {
  const std::int64_t width = extent(part, 1);
  geometry::for_each_entry(
      "minigift::scatter_columns", extent(part, 0), width,
      KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) { w(i, first + j) = part(i, j); });
}

}  // namespace

void apply_input(const Matrix<float>& w, const DenseWhitening& whitening, Direction direction,
                 Vector<float>& workspace) {
  const std::int64_t m = extent(w, 0), d = extent(w, 1);
  require(d == whitening.dimension, "input transform of dimension {} on a matrix of shape ({}, {})",
          whitening.dimension, m, d);
  if (whitening.is_identity || m == 0) return;
  if (whitening.width == 1)
    return geometry::scale_columns<float>(
        w, direction == Direction::forward ? whitening.transform : whitening.inverse);
  const bool one_block = whitening.block_count() == 1;
  reserve(workspace, (one_block ? 1 : 2) * m * whitening.width);
  for (std::int64_t block = 0; block < whitening.block_count(); ++block) {
    const std::int64_t width = whitening.block_width(block), first = block * whitening.width;
    const Matrix<float> result = slice(workspace, 0, m, width);
    Matrix<float> part = w;
    if (!one_block) {
      part = slice(workspace, m * whitening.width, m, width);
      gather_columns(w, first, part);
    }
    gemm<float, float>(Transpose::no, Transpose::no, 1.0f, part, whitening.block(direction, block), 0.0f,
                       result);
    scatter_columns(result, first, w);
  }
}

void apply_output(const Matrix<float>& w, const DenseWhitening& whitening, Direction direction,
                  Vector<float>& workspace) {
  const std::int64_t d = extent(w, 0), n = extent(w, 1);
  require(d == whitening.dimension, "output transform of dimension {} on a matrix of shape ({}, {})",
          whitening.dimension, d, n);
  if (whitening.is_identity || n == 0) return;
  if (whitening.width == 1)
    return geometry::scale_rows<float>(
        w, direction == Direction::forward ? whitening.transform : whitening.inverse);
  reserve(workspace, whitening.width * n);
  for (std::int64_t block = 0; block < whitening.block_count(); ++block) {
    const std::int64_t width = whitening.block_width(block);
    const Matrix<float> part = slice(flatten(w), block * whitening.width * n, width, n);
    const Matrix<float> result = slice(workspace, 0, width, n);
    gemm<float, float>(Transpose::yes, Transpose::no, 1.0f, whitening.block(direction, block), part, 0.0f,
                       result);
    copy(part, result);
  }
}

void inverse_row_norms(const DenseWhitening& whitening, const Vector<double>& norms) {
  require(size(norms) == whitening.dimension, "row norms: {} rows but room for {}", whitening.dimension,
          size(norms));
  if (whitening.width == 1) {
    const Vector<const float> inverse = whitening.inverse;
    Kokkos::parallel_for(
        "minigift::diagonal_row_norms", range(size(norms)), KOKKOS_LAMBDA(const std::int64_t i) {
          norms(i) = static_cast<double>(inverse(i)) * static_cast<double>(inverse(i));
        });
    return;
  }
  for (std::int64_t block = 0; block < whitening.block_count(); ++block)
    row_sums_of_squares<float>(whitening.block(Direction::inverse, block),
                               slice(norms, block * whitening.width, whitening.block_width(block)));
}

}  // namespace minigift
