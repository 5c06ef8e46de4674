// Factorizations by LAPACK, in host memory. Compiled unless Kokkos has its CUDA backend.

#include "kernels/error.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/host_mirror.hpp"
#include "kernels/linalg/host_products.hpp"
#include "kernels/linalg/lapack.hpp"
#include "kernels/linalg/operation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace minigift {
namespace {

using linalg::check_small;
using linalg::Operation;
using linalg::ProductShape;
using linalg::tolerance;

lapack_int lapack_size(const Operation& operation, std::int64_t value,
                       std::int64_t limit = std::numeric_limits<lapack_int>::max()) {
  operation.check(value <= limit, "LAPACK's index type ends at an extent of {}", limit);
  return static_cast<lapack_int>(value);
}

template <class View>
void check_finite(const Operation& operation, const View& a) {
  for (std::int64_t i = 0; i < extent(a, 0); ++i)
    for (std::int64_t j = 0; j < extent(a, 1); ++j)
      operation.check(std::isfinite(a(i, j)), "element ({}, {}) is {}", i, j, a(i, j));
}

template <class S>
std::vector<S> copy_of(const HostMatrix<S>& a) {
  return std::vector<S>(a.data(), a.data() + a.size());
}

template <class S>
S frobenius_norm(const std::vector<S>& values) {
  S largest = 0;
  for (const S value : values)
    largest = std::max(largest, std::abs(value));
  if (largest == 0) return 0;
  S sum = 0;  // scaled, so that squares neither overflow nor vanish
  for (const S value : values)
    sum += (value / largest) * (value / largest);
  return largest * std::sqrt(sum);
}

template <class S>
S largest_magnitude(const std::vector<S>& values) {
  S largest = 0;
  for (const S value : values)
    largest = std::isnan(value) ? value : std::max(largest, std::abs(value));
  return largest;
}

template <class S>
std::vector<S> product(const ProductShape& shape, const S* a, const S* b) {
  std::vector<S> c(static_cast<std::size_t>(shape.m * shape.n));
  linalg::blas_product(shape, S(1), a, b, S(0), c.data());
  return c;
}

/// q (m, n): max|Q^T Q - I|.
template <class S>
void check_orthonormal(const Operation& operation, const HostMatrix<S>& q) {
  const std::int64_t m = extent(q, 0), n = extent(q, 1);
  std::vector<S> gram(static_cast<std::size_t>(n * n), S(0));
  linalg::syrk_transposed(lapack_size(operation, m), lapack_size(operation, n), q.data(), gram.data());
  for (std::int64_t i = 0; i < n; ++i)
    gram[static_cast<std::size_t>(i * n + i)] -= S(1);
  check_small(operation, "the departure of the columns from orthonormality", largest_magnitude(gram),
              tolerance<S>(m));
}

}  // namespace

template <class S>
void symmetric_eigen(const Matrix<S>& a, const Vector<S>& values) {
  const std::int64_t n = extent(a, 0);
  const Operation operation{"eigendecomposition", n, extent(a, 1)};
  operation.check(extent(a, 1) == n && size(values) == n,
                  "square input and as many eigenvalues are needed, there are {}", size(values));
  if (n == 0) return;
  // dsyevd asks for a workspace of 1 + 6 n + 2 n^2 elements, counted in 32 bits.
  const lapack_int order = lapack_size(operation, n, 32765);
  const HostMatrix<S> vectors = linalg::host_output(a);
  const HostVector<S> lambda = linalg::host_output(values);
  check_finite(operation, vectors);
  const std::vector<S> input = copy_of(vectors);

  const lapack_int info = linalg::syevd(order, vectors.data(), lambda.data());
  operation.check(info == 0, "LAPACK did not converge (info {})", info);

  std::vector<S> residual = product<S>({n, n, n, false, false}, input.data(), vectors.data());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      residual[static_cast<std::size_t>(i * n + j)] -= vectors(i, j) * lambda(j);
  check_small(operation, "the residual A V - V diag(values)", largest_magnitude(residual),
              tolerance<S>(n) * frobenius_norm(input));
  check_orthonormal(operation, vectors);
  linalg::finish_output(vectors, a);
  linalg::finish_output(lambda, values);
}

template <class S>
void cholesky_lower(const Matrix<S>& a) {
  const std::int64_t n = extent(a, 0);
  const Operation operation{"Cholesky factorization", n, extent(a, 1)};
  operation.check(extent(a, 1) == n, "the input must be square");
  if (n == 0) return;
  const lapack_int order = lapack_size(operation, n);
  const HostMatrix<S> lower = linalg::host_output(a);
  check_finite(operation, lower);
  std::vector<S> residual = copy_of(lower);
  S largest_diagonal = 0;
  for (std::int64_t i = 0; i < n; ++i)
    largest_diagonal = std::max(largest_diagonal, lower(i, i));

  const lapack_int info = linalg::potrf(order, lower.data());
  operation.check(info <= 0, "the leading minor of order {} is not positive definite", info);
  operation.check(info == 0, "LAPACK rejected argument {}", -info);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j)
      lower(i, j) = S(0);

  linalg::blas_product({n, n, n, false, true}, S(-1), lower.data(), lower.data(), S(1), residual.data());
  check_small(operation, "the residual A - L L^T", largest_magnitude(residual),
              tolerance<S>(n) * largest_diagonal);
  linalg::finish_output(lower, a);
}

template <class S>
void solve_lower_transposed_right(const Matrix<const S>& l, const Matrix<S>& b) {
  const std::int64_t m = extent(b, 0), n = extent(b, 1);
  const Operation operation{"triangular solve", m, n};
  operation.check(extent(l, 0) == n && extent(l, 1) == n, "the triangle is {} x {}", extent(l, 0),
                  extent(l, 1));
  if (m == 0 || n == 0) return;
  const lapack_int rows = lapack_size(operation, m), columns = lapack_size(operation, n);
  const HostMatrix<const S> lower = linalg::host_input(l);
  const HostMatrix<S> solution = linalg::host_output(b);
  check_finite(operation, solution);
  std::vector<S> triangle(static_cast<std::size_t>(n * n), S(0));
  for (std::int64_t i = 0; i < n; ++i) {
    operation.check(lower(i, i) != S(0), "the triangle's diagonal element {} is zero", i);
    for (std::int64_t j = 0; j <= i; ++j) {
      operation.check(std::isfinite(lower(i, j)), "the triangle's element ({}, {}) is not finite", i, j);
      triangle[static_cast<std::size_t>(i * n + j)] = lower(i, j);
    }
  }
  std::vector<S> residual = copy_of(solution);

  linalg::trsm_right_lower_transposed(rows, columns, triangle.data(), solution.data());

  linalg::blas_product({m, n, n, false, true}, S(-1), solution.data(), triangle.data(), S(1),
                       residual.data());
  const auto row_norms = [n](const S* matrix, std::int64_t count) {
    std::vector<S> norms(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      norms[static_cast<std::size_t>(i)] =
          frobenius_norm(std::vector<S>(matrix + i * n, matrix + (i + 1) * n));
    return norms;
  };
  const std::vector<S> solution_norms = row_norms(solution.data(), m),
                       triangle_norms = row_norms(triangle.data(), n);
  S worst = 0;  // of the residual's elements, in units of the norms of the rows that made them
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const S difference = std::abs(residual[static_cast<std::size_t>(i * n + j)]);
      const S scale =
          solution_norms[static_cast<std::size_t>(i)] * triangle_norms[static_cast<std::size_t>(j)];
      if (difference > 0 || std::isnan(difference))
        worst = std::isnan(worst) ? worst : std::max(difference / scale, worst);
    }
  check_small(operation, "the residual X L^T - B, relative to its rows,", worst, tolerance<S>(n));
  linalg::finish_output(solution, b);
}

template <class S>
void thin_qr(const Matrix<S>& a, const Matrix<S>& r) {
  const std::int64_t m = extent(a, 0), n = extent(a, 1);
  const Operation operation{"QR factorization", m, n};
  operation.check(m >= n, "there must be at least as many rows as columns");
  operation.check(extent(r, 0) == n && extent(r, 1) == n, "R must be {0} x {0}, it is {1} x {2}", n,
                  extent(r, 0), extent(r, 1));
  if (n == 0) return;
  const lapack_int rows = lapack_size(operation, m), columns = lapack_size(operation, n);
  const HostMatrix<S> q = linalg::host_output(a);
  const HostMatrix<S> triangle = linalg::host_output(r);
  check_finite(operation, q);
  std::vector<S> residual = copy_of(q);
  const S norm = frobenius_norm(residual);

  std::vector<S> reflectors(static_cast<std::size_t>(n));
  lapack_int info = linalg::geqrf(rows, columns, q.data(), reflectors.data());
  operation.check(info == 0, "LAPACK's geqrf failed (info {})", info);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      triangle(i, j) = j < i ? S(0) : q(i, j);
  info = linalg::orgqr(rows, columns, q.data(), reflectors.data());
  operation.check(info == 0, "LAPACK's orgqr failed (info {})", info);
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(triangle(i, i) < S(0))) continue;
    for (std::int64_t j = i; j < n; ++j)
      triangle(i, j) = -triangle(i, j);
    for (std::int64_t row = 0; row < m; ++row)
      q(row, i) = -q(row, i);
  }

  linalg::blas_product({m, n, n, false, false}, S(-1), q.data(), triangle.data(), S(1), residual.data());
  check_small(operation, "the residual A - Q R", largest_magnitude(residual), tolerance<S>(m) * norm);
  check_orthonormal(operation, q);
  linalg::finish_output(q, a);
  linalg::finish_output(triangle, r);
}

#define MINIGIFT_INSTANTIATE(S)                                                            \
  template void symmetric_eigen<S>(const Matrix<S>&, const Vector<S>&);                    \
  template void cholesky_lower<S>(const Matrix<S>&);                                       \
  template void solve_lower_transposed_right<S>(const Matrix<const S>&, const Matrix<S>&); \
  template void thin_qr<S>(const Matrix<S>&, const Matrix<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
