#include "kernels/geometry/gamma.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

Matrix<float> copy_of(const Matrix<const float>& w) {
  const Matrix<float> result(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::gamma_copy"),
                             w.extent(0), w.extent(1));
  copy(result, w);
  return result;
}

double norm_squared(const Matrix<const float>& w) {
  return sum_of_squares<float>(flatten(w));
}

/// sum_j ||u_:j||^2 weights(j).
double weighted_energy(const Matrix<const float>& u, const Vector<const double>& weights) {
  const Vector<double> columns("minigift::gamma_columns", u.extent(1));
  column_sums_of_squares<float>(u, columns);
  return dot(columns, weights);
}

/// energies(i) = sum_j u_ij^2 weights(j).
void weighted_row_energies(const Matrix<const float>& u, const Vector<const double>& weights,
                           const Vector<double>& energies) {
  const std::int64_t columns = extent(u, 1);
  Kokkos::parallel_for(
      "minigift::weighted_row_energies", range(extent(u, 0)), KOKKOS_LAMBDA(const std::int64_t i) {
        const float* const row = &u(i, 0);
        const double* const weight = weights.data();
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t j = 0; j < columns; ++j) {
          const double value = static_cast<double>(row[j]);
          sum += value * value * weight[j];
        }
        energies(i) = sum;
      });
}

std::int64_t dimension_of(const DenseWhitening& whitening) {
  return whitening.dimension;
}
std::int64_t dimension_of(const SpectralWhitening& whitening) {
  return whitening.dimension();
}
std::int64_t dimension_of(const LowRankWhitening& whitening) {
  return extent(whitening.basis, 0);
}
/// ||(T^{-1})_j:||^2 for all j.
template <class Whitening>
Vector<double> row_norms_of(const Whitening& whitening) {
  const Vector<double> norms(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::gamma_weights"),
                             static_cast<std::size_t>(dimension_of(whitening)));
  inverse_row_norms(whitening, norms);
  return norms;
}

}  // namespace

double gamma(const GammaTerms& terms) {
  return terms.norm_squared > 0 ? std::sqrt(terms.numerator / terms.norm_squared) : 1.0;
}

GammaTerms gamma_dense(const Matrix<const float>& w, const Matrix<const float>& transform,
                       const Matrix<const float>& inverse) {
  const Matrix<float> u(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::gamma_u"), w.extent(0),
                        transform.extent(1));
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, w, transform, 0.0f, u);
  const Vector<double> weights("minigift::gamma_weights", inverse.extent(0));
  row_sums_of_squares<float>(inverse, weights);
  return {weighted_energy(u, weights), norm_squared(w)};
}

GammaTerms gamma_transformed(const Matrix<const float>& u, double norm_squared_of_w,
                             const Vector<const double>& row_weights,
                             const Vector<const double>& column_weights) {
  const std::int64_t m = extent(u, 0), d = extent(u, 1);
  const bool rows = size(row_weights) != 0, columns = size(column_weights) != 0;
  require((!rows || size(row_weights) == m) && (!columns || size(column_weights) == d),
          "gamma: {} row weights and {} column weights do not fit a matrix of shape ({}, {})",
          size(row_weights), size(column_weights), m, d);
  if (!rows && !columns) return {norm_squared(u), norm_squared_of_w};
  if (!rows) return {weighted_energy(u, column_weights), norm_squared_of_w};
  const Vector<double> energies("minigift::gamma_rows", u.extent(0));
  if (columns)
    weighted_row_energies(u, column_weights, energies);
  else
    row_sums_of_squares<float>(u, energies);
  return {dot(energies, row_weights), norm_squared_of_w};
}

GammaTerms gamma_input(const Matrix<const float>& w, const DenseWhitening& whitening) {
  const Matrix<float> u = copy_of(w);
  Vector<float> workspace;
  apply_input(u, whitening, Direction::forward, workspace);
  return gamma_transformed(u, norm_squared(w), Vector<const double>(), row_norms_of(whitening));
}

GammaTerms gamma_input(const Matrix<const float>& w, const SpectralWhitening& whitening,
                       Vector<float>& workspace) {
  const std::int64_t m = extent(w, 0), d = extent(w, 1);
  if (whitening.is_identity) return {norm_squared(w), norm_squared(w)};
  reserve(workspace, 2 * m * d);
  const Matrix<float> u = slice(workspace, 0, m, d);
  Vector<float> rest = slice(workspace, m * d, m * d);
  copy(u, w);
  apply_input(u, whitening, Direction::forward, rest);
  return gamma_transformed(u, norm_squared(w), Vector<const double>(), row_norms_of(whitening));
}

GammaTerms gamma_low_rank(const Matrix<const float>& w, const LowRankWhitening& whitening,
                          Vector<float>& workspace) {
  const std::int64_t m = extent(w, 0), d = extent(w, 1), rank = extent(whitening.basis, 1);
  require(extent(whitening.basis, 0) == d, "gamma: a basis ({}, {}) does not fit a matrix of shape ({}, {})",
          extent(whitening.basis, 0), rank, m, d);
  const double norm = norm_squared(w);
  if (whitening.is_identity || rank == 0 || m == 0) return {norm, norm};
  reserve(workspace, m * (d + rank));
  const Matrix<float> u = slice(workspace, 0, m, d);
  copy(u, w);
  Vector<float> coefficients = slice(workspace, m * d, m * rank);
  apply_low_rank(u, whitening.basis, whitening.forward, coefficients);

  return gamma_transformed(u, norm, Vector<const double>(), row_norms_of(whitening));
}

GammaTerms gamma_two_sided(const Matrix<const float>& w, const DenseWhitening& output,
                           const DenseWhitening& input) {
  const Matrix<float> u = copy_of(w);
  Vector<float> workspace;
  apply_input(u, input, Direction::forward, workspace);
  apply_output(u, output, Direction::forward, workspace);
  return gamma_transformed(u, norm_squared(w), row_norms_of(output), row_norms_of(input));
}

GammaTerms gamma_two_sided(const Matrix<const float>& w, const SpectralWhitening& output,
                           const SpectralWhitening& input, Vector<float>& workspace) {
  const std::int64_t m = extent(w, 0), d = extent(w, 1);
  reserve(workspace, 2 * m * d);
  const Matrix<float> u = slice(workspace, 0, m, d);
  Vector<float> rest = slice(workspace, m * d, m * d);
  copy(u, w);
  apply_input(u, input, Direction::forward, rest);
  apply_output(u, output, Direction::forward, rest);
  return gamma_transformed(u, norm_squared(w), row_norms_of(output), row_norms_of(input));
}

double gamma_lower_bound(const Matrix<const float>& w) {
  const double norm = norm_squared(w);
  if (!(norm > 0)) return 1;
  const std::int64_t m = extent(w, 0), d = extent(w, 1);
  const Matrix<double> wide("minigift::widened", w.extent(0), w.extent(1));
  Kokkos::parallel_for(
      "minigift::widened", range(m), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t j = 0; j < d; ++j)
          wide(i, j) = static_cast<double>(w(i, j));
      });
  const bool wide_shape = m <= d;
  const auto n = static_cast<std::size_t>(std::min(m, d));
  const Matrix<double> gram("minigift::gram", n, n);
  gemm<double, double>(wide_shape ? Transpose::no : Transpose::yes,
                       wide_shape ? Transpose::yes : Transpose::no, 1.0, wide, wide, 0.0, gram);
  const Vector<double> values("minigift::gram_values", n);
  symmetric_eigen(gram, values);
  const auto host = on_host(values);
  double nuclear = 0;
  for (std::int64_t i = 0; i < extent(host, 0); ++i)
    nuclear += std::sqrt(std::max(host(i), 0.0));
  return nuclear / std::sqrt(static_cast<double>(d) * norm);
}

}  // namespace minigift
