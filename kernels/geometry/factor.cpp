#include "kernels/geometry/factor.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/geometry/entries.hpp"
#include "kernels/geometry/spectrum.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace minigift {
namespace {

Matrix<double> widened(const Matrix<const float>& source, double factor) {
  const Matrix<double> wide("minigift::widened", source.extent(0), source.extent(1));
  const Vector<const float> from = flatten(source);
  const Vector<double> to = flatten(wide);
  Kokkos::parallel_for(
      "minigift::widened", range(size(from)),
      KOKKOS_LAMBDA(const std::int64_t i) { to(i) = factor * static_cast<double>(from(i)); });
  return wide;
}

/// The leading `rank` columns of candidates (d, n), whose order is ascending, each turned so that its
/// component of largest magnitude (the first of equals) is positive, in FP32.
template <class S>
Matrix<float> leading_columns(const Matrix<S>& candidates, std::int64_t rank) {
  const std::int64_t d = extent(candidates, 0), n = extent(candidates, 1);
  const auto host = on_host(candidates);
  const Matrix<float> basis("minigift::basis", static_cast<std::size_t>(d), static_cast<std::size_t>(rank));
  const auto chosen = host_like(basis);
  for (std::int64_t column = 0; column < rank; ++column) {
    const std::int64_t source = n - 1 - column;
    S extreme = 0;
    for (std::int64_t i = 0; i < d; ++i)
      if (std::abs(host(i, source)) > std::abs(extreme)) extreme = host(i, source);
    const S sign = extreme < 0 ? -1 : 1;
    for (std::int64_t i = 0; i < d; ++i)
      chosen(i, column) = static_cast<float>(sign * host(i, source));
  }
  copy(basis, chosen);
  return basis;
}

void check_orthonormal(const Matrix<float>& basis) {
  const std::int64_t rank = extent(basis, 1);
  const Matrix<double> wide = widened(basis, 1.0);
  const Matrix<double> gram("minigift::gram", basis.extent(1), basis.extent(1));
  gemm<double, double>(Transpose::yes, Transpose::no, 1.0, wide, wide, 0.0, gram);
  const auto host = on_host(gram);
  double worst = 0;
  for (std::int64_t i = 0; i < rank; ++i)
    for (std::int64_t j = 0; j < rank; ++j)
      worst = std::max(worst, std::abs(host(i, j) - (i == j ? 1 : 0)));
  require(worst <= 1e-5, "low-rank factor of shape ({}, {}): its basis departs from orthonormality by {:.3g}",
          extent(basis, 0), rank, worst);
}

/// Puts together a factor from eigenpairs in ascending order, keeping at most `rank` eigenvalues above
/// `floor`.
template <class S>
LowRankFactor leading_factor(const Matrix<S>& vectors, const std::vector<double>& ascending, double floor,
                             std::int64_t rank, double trace) {
  LowRankFactor factor;
  factor.dimension = extent(vectors, 0);
  factor.trace = trace;
  for (auto value = ascending.rbegin(); value != ascending.rend(); ++value) {
    if (static_cast<std::int64_t>(factor.eigenvalues.size()) == rank || !(*value > floor)) break;
    factor.eigenvalues.push_back(*value);
  }
  factor.basis = leading_columns(vectors, static_cast<std::int64_t>(factor.eigenvalues.size()));
  check_orthonormal(factor.basis);
  return factor;
}

std::vector<double> host_values(const Vector<double>& values) {
  const auto host = on_host(values);
  return std::vector<double>(host.data(), host.data() + host.size());
}

LowRankFactor empty_factor(std::int64_t d, double trace) {
  return {Matrix<float>("minigift::basis", static_cast<std::size_t>(d), 0), {}, trace, d};
}

/// sym(b) in place; returns ||b - b^T||_F, which exact arithmetic would make zero.
double symmetrise(const Matrix<double>& b) {
  const std::int64_t n = extent(b, 0);
  const auto host = on_host(b);
  double skew = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) {
      const double difference = host(i, j) - host(j, i), mean = 0.5 * (host(i, j) + host(j, i));
      skew += 2 * difference * difference;
      host(i, j) = host(j, i) = mean;
    }
  copy(b, host);
  return std::sqrt(skew);
}

/// columns(:, j) *= (1 / sqrt(values(j)) if values(j) > floor, else 0).
void divide_by_roots(const Matrix<double>& columns, const Vector<double>& values, double floor) {
  const std::int64_t n = extent(columns, 1);
  const std::vector<double> lambda = host_values(values);
  const Vector<double> factors("minigift::factors", static_cast<std::size_t>(n));
  const auto host = host_like(factors);
  for (std::int64_t j = 0; j < n; ++j) {
    const double value = lambda[static_cast<std::size_t>(j)];
    host(j) = value > floor ? 1 / std::sqrt(value) : 0;
  }
  copy(factors, host);
  geometry::for_each_entry(
      "minigift::divide_by_roots", extent(columns, 0), n,
      KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) { columns(i, j) *= factors(j); });
}

Matrix<double> product(Transpose transpose_a, const Matrix<double>& a, const Matrix<double>& b) {
  const Matrix<double> c("minigift::product", a.extent(transpose_a == Transpose::yes ? 1 : 0), b.extent(1));
  gemm<double, double>(transpose_a, Transpose::no, 1.0, a, b, 0.0, c);
  return c;
}

}  // namespace

LowRankFactor nystrom_factor(const Sketch& sketch, const Matrix<const float>& omega, std::int64_t rank) {
  const std::int64_t d = extent(omega, 0), k = extent(omega, 1);
  require(extent(sketch.y, 0) == d && extent(sketch.y, 1) == k && size(sketch.trace_count) == 2,
          "Nystroem factor: a sketch of shape ({}, {}) does not belong to a test matrix ({}, {})",
          extent(sketch.y, 0), extent(sketch.y, 1), d, k);
  require(rank >= 1, "Nystroem factor: the rank must be at least 1, not {}", rank);
  const std::vector<double> trace_count = host_values(sketch.trace_count);
  const double tokens = trace_count[1];
  if (tokens == 0) return empty_factor(d, 0);
  const double trace = trace_count[0] / tokens;
  const Matrix<double> y = widened(sketch.y, 1 / tokens);
  const double norm = std::sqrt(sum_of_squares<double>(flatten(y)));
  require(std::isfinite(trace) && std::isfinite(norm) && tokens > 0,
          "Nystroem factor of dimension {}: the sketch is not finite (trace {}, norm {}, tokens {})", d,
          trace, norm, tokens);
  if (norm == 0) return empty_factor(d, trace);

  const Matrix<double> test = widened(omega, 1.0);
  const Matrix<double> b = product(Transpose::yes, test, y);
  // The shift covers the rounding of the FP32 sum. What is left of asymmetry shows larger errors, such as
  // bfloat16's.
  const double skew = symmetrise(b);
  const double rounding = std::sqrt(static_cast<double>(d)) * std::numeric_limits<float>::epsilon() * norm;
  const double shift = std::max(rounding, skew);
  const Matrix<double> overlap = product(Transpose::yes, test, test);
  const Vector<double> b_flat = flatten(b), overlap_flat = flatten(overlap);
  const Vector<double> y_flat = flatten(y), test_flat = flatten(test);
  Kokkos::parallel_for(
      "minigift::nystrom_shift", range(size(b_flat)),
      KOKKOS_LAMBDA(const std::int64_t i) { b_flat(i) += shift * overlap_flat(i); });
  Kokkos::parallel_for(
      "minigift::nystrom_shift", range(size(y_flat)),
      KOKKOS_LAMBDA(const std::int64_t i) { y_flat(i) += shift * test_flat(i); });

  // F = Y_nu B^{-1/2} with B = W diag W^T; a Cholesky factor in place of the root gives the same F F^T, but
  // fails where the errors of the sketch leave B indefinite. Those directions are left out here.
  const Vector<double> values("minigift::nystrom_values", static_cast<std::size_t>(k));
  symmetric_eigen(b, values);
  const double unit = std::numeric_limits<double>::epsilon() * static_cast<double>(k);
  divide_by_roots(b, values, unit * norm);
  const Matrix<double> f = product(Transpose::no, y, b);

  // The eigenpairs of F F^T from F^T F: its eigenvalues are the squares that we want, accurate to u lambda_1
  // in FP64, far below the shift.
  const Matrix<double> gram = product(Transpose::yes, f, f);
  symmetrise(gram);
  symmetric_eigen(gram, values);
  const Matrix<double> vectors = product(Transpose::no, f, gram);
  divide_by_roots(vectors, values, shift);
  std::vector<double> eigenvalues = host_values(values);
  for (double& value : eigenvalues)
    value = std::max(value - shift, 0.0);
  return leading_factor(vectors, eigenvalues, shift, std::min(rank, k), trace);
}

LowRankFactor exact_factor(const Spectrum& spectrum, std::int64_t rank) {
  const std::int64_t d = spectrum.dimension();
  require(rank >= 1, "eigenvalue factor: the rank must be at least 1, not {}", rank);
  double largest = 0;
  for (const double value : spectrum.values)
    largest = std::max(largest, std::abs(value));
  const double floor = static_cast<double>(d) * std::numeric_limits<double>::epsilon() * largest;
  return leading_factor(spectrum.vectors, spectrum.values, floor, std::min(rank, d), spectrum.trace);
}

LowRankFactor exact_factor(const Matrix<const double>& a, std::int64_t rank) {
  require(rank >= 1, "eigenvalue factor: the rank must be at least 1, not {}", rank);
  return exact_factor(spectrum_of(a), rank);
}

}  // namespace minigift
