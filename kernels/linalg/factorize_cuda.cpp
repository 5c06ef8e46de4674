// Factorizations by cuSOLVER and cuBLAS on the current stream, in device memory: only the scalars of the
// checks come to the host. Compiled where Kokkos has its CUDA backend.
//
// The libraries are column-major: the memory of our row-major matrix is its transpose to them. What that
// means is said where it matters; a symmetric matrix is its own transpose.

#include "kernels/device/memory.hpp"
#include "kernels/linalg/cuda/factorizations.hpp"
#include "kernels/linalg/device_checks.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/operation.hpp"

#include <Kokkos_Core.hpp>

namespace minigift {
namespace {

using linalg::check_small;
using linalg::Operation;
using linalg::tolerance;

/// Handles and workspaces go before the device does.
cudaStream_t stream() {
  static const bool registered = [] {
    Kokkos::push_finalize_hook([] { linalg::cuda::release_factorizations(); });
    return true;
  }();
  (void)registered;
  return current_space().cuda_stream();
}

template <class S>
Matrix<S> scratch(const char* label, std::int64_t rows, std::int64_t columns) {
  const Vector<S> memory = stream_scratch<S>(label, rows * columns);
  return Matrix<S>(memory.data(), static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
}

template <class S>
void check_finite(const Operation& operation, const Matrix<S>& a) {
  const std::int64_t found = linalg::first_not_finite<S>(linalg::all_of(a));
  if (found < 0) return;
  const std::int64_t i = found / extent(a, 1), j = found % extent(a, 1);
  operation.check(false, "element ({}, {}) is {}", i, j, linalg::element(linalg::all_of(a), found));
}

/// b (columns, rows) <- a^T
template <class S>
void transpose(const Matrix<const S>& a, const Matrix<S>& b) {
  const std::int64_t rows = extent(a, 0), columns = extent(a, 1);
  Kokkos::parallel_for(
      "minigift::transpose", range(rows * columns), KOKKOS_LAMBDA(const std::int64_t element) {
        const std::int64_t i = element / columns, j = element % columns;
        b(j, i) = a(i, j);
      });
}

/// gram (n, n), the product of a matrix of `length` rows with its own transpose: max|gram - I|.
template <class S>
void check_identity(const Operation& operation, const Matrix<S>& gram, std::int64_t length) {
  Kokkos::parallel_for(
      "minigift::subtract_identity", range(extent(gram, 0)),
      KOKKOS_LAMBDA(const std::int64_t i) { gram(i, i) -= S(1); });
  check_small(operation, "the departure of the columns from orthonormality",
              linalg::largest_magnitude<S>(linalg::all_of(gram)), tolerance<S>(length));
}

/// residual(j, i) -= vectors(j, i) values(j)
template <class S>
void subtract_scaled_rows(const Matrix<S>& vectors, const Vector<S>& values, const Matrix<S>& residual) {
  const std::int64_t n = extent(vectors, 0);
  Kokkos::parallel_for(
      "minigift::eigen_residual", range(n * n), KOKKOS_LAMBDA(const std::int64_t element) {
        const std::int64_t j = element / n, i = element % n;
        residual(j, i) -= vectors(j, i) * values(j);
      });
}

/// lower <- the lower triangle of a, with zeros above the diagonal. They may be the same.
template <class S>
void lower_triangle(const Matrix<const S>& a, const Matrix<S>& lower) {
  const std::int64_t n = extent(a, 0);
  Kokkos::parallel_for(
      "minigift::lower_triangle", range(n * n), KOKKOS_LAMBDA(const std::int64_t element) {
        const std::int64_t i = element / n, j = element % n;
        lower(i, j) = j <= i ? a(i, j) : S(0);
      });
}

/// columns (n, m) holds R^T in its lower triangle. r (n, n) becomes R with a diagonal that is not negative,
/// signs (n) what its rows were multiplied with.
template <class S>
void take_r(const Matrix<S>& columns, const Matrix<S>& r, const Vector<S>& signs) {
  const std::int64_t n = extent(r, 0);
  Kokkos::parallel_for(
      "minigift::qr_signs", range(n),
      KOKKOS_LAMBDA(const std::int64_t i) { signs(i) = columns(i, i) < S(0) ? S(-1) : S(1); });
  Kokkos::parallel_for(
      "minigift::qr_triangle", range(n * n), KOKKOS_LAMBDA(const std::int64_t element) {
        const std::int64_t i = element / n, j = element % n;
        r(i, j) = j < i ? S(0) : signs(i) * columns(j, i);
      });
}

/// q (m, n) <- the rows of columns (n, m) as columns, times their signs.
template <class S>
void take_q(const Matrix<S>& columns, const Vector<S>& signs, const Matrix<S>& q) {
  const std::int64_t m = extent(q, 0), n = extent(q, 1);
  Kokkos::parallel_for(
      "minigift::qr_columns", range(m * n), KOKKOS_LAMBDA(const std::int64_t element) {
        const std::int64_t i = element / n, j = element % n;
        q(i, j) = signs(j) * columns(j, i);
      });
}

}  // namespace

template <class S>
void symmetric_eigen(const Matrix<S>& a, const Vector<S>& values) {
  const std::int64_t n = extent(a, 0);
  const Operation operation{"eigendecomposition", n, extent(a, 1)};
  operation.check(extent(a, 1) == n && size(values) == n,
                  "square input and as many eigenvalues are needed, there are {}", size(values));
  if (n == 0) return;
  const ScopedFp32Products exact(Fp32Products::ieee);
  check_finite(operation, a);

  // Row j of `vectors` is eigenvector j: the column that the library wrote. It reads its upper triangle, our
  // lower one.
  const Matrix<S> vectors = scratch<S>("minigift::eigen_vectors", n, n);
  copy(vectors, a);
  const int info = linalg::cuda::symmetric_eigen(stream(), n, vectors.data(), values.data());
  operation.check(info == 0, "cuSOLVER did not converge (info {})", info);

  const Matrix<S> residual = scratch<S>("minigift::eigen_residual", n, n);
  gemm<S, S>(Transpose::no, Transpose::yes, S(1), vectors, a, S(0), residual);  // (A V)^T
  subtract_scaled_rows(vectors, values, residual);
  check_small(operation, "the residual A V - V diag(values)",
              linalg::largest_magnitude<S>(linalg::all_of(residual)),
              tolerance<S>(n) * linalg::frobenius_norm<S>(linalg::all_of(a)));
  gemm<S, S>(Transpose::no, Transpose::yes, S(1), vectors, vectors, S(0), residual);
  check_identity(operation, residual, n);
  transpose<S>(vectors, a);
}

template <class S>
void cholesky_lower(const Matrix<S>& a) {
  const std::int64_t n = extent(a, 0);
  const Operation operation{"Cholesky factorization", n, extent(a, 1)};
  operation.check(extent(a, 1) == n, "the input must be square");
  if (n == 0) return;
  const ScopedFp32Products exact(Fp32Products::ieee);
  check_finite(operation, a);
  const Matrix<S> residual = scratch<S>("minigift::cholesky_residual", n, n);
  copy(residual, a);
  const S largest_diagonal = linalg::largest_diagonal<S>(a);

  // Our L is the library's U = L^T: a = U^T U = L L^T.
  const int info = linalg::cuda::cholesky_upper(stream(), n, a.data());
  operation.check(info <= 0, "the leading minor of order {} is not positive definite", info);
  operation.check(info == 0, "cuSOLVER rejected argument {}", -info);
  lower_triangle<S>(a, a);

  gemm<S, S>(Transpose::no, Transpose::yes, S(-1), a, a, S(1), residual);
  check_small(operation, "the residual A - L L^T", linalg::largest_magnitude<S>(linalg::all_of(residual)),
              tolerance<S>(n) * largest_diagonal);
}

template <class S>
void solve_lower_transposed_right(const Matrix<const S>& l, const Matrix<S>& b) {
  const std::int64_t m = extent(b, 0), n = extent(b, 1);
  const Operation operation{"triangular solve", m, n};
  operation.check(extent(l, 0) == n && extent(l, 1) == n, "the triangle is {} x {}", extent(l, 0),
                  extent(l, 1));
  if (m == 0 || n == 0) return;
  const ScopedFp32Products exact(Fp32Products::ieee);
  check_finite(operation, b);
  const std::int64_t zero = linalg::first_zero_on_diagonal<S>(l);
  operation.check(zero < 0, "the triangle's diagonal element {} is zero", zero);
  const Matrix<S> triangle = scratch<S>("minigift::solve_triangle", n, n);
  lower_triangle<S>(l, triangle);
  const std::int64_t poison = linalg::first_not_finite<S>(linalg::all_of(triangle));
  operation.check(poison < 0, "the triangle's element ({}, {}) is not finite", poison / n, poison % n);
  const Matrix<S> residual = scratch<S>("minigift::solve_residual", m, n);
  copy(residual, b);

  // X L^T = B is, in the library's order, U^T X^T = B^T with U the memory of L.
  linalg::cuda::solve_upper_transposed_left(stream(), n, m, static_cast<const S*>(triangle.data()), b.data());

  gemm<S, S>(Transpose::no, Transpose::yes, S(-1), b, triangle, S(1), residual);
  const Vector<S> solution_norms = stream_scratch<S>("minigift::solve_solution_norms", m),
                  triangle_norms = stream_scratch<S>("minigift::solve_triangle_norms", n);
  linalg::row_norms<S>(b, solution_norms);
  linalg::row_norms<S>(triangle, triangle_norms);
  check_small(operation, "the residual X L^T - B, relative to its rows,",
              linalg::largest_relative<S>(residual, solution_norms, triangle_norms), tolerance<S>(n));
}

template <class S>
void thin_qr(const Matrix<S>& a, const Matrix<S>& r) {
  const std::int64_t m = extent(a, 0), n = extent(a, 1);
  const Operation operation{"QR factorization", m, n};
  operation.check(m >= n, "there must be at least as many rows as columns");
  operation.check(extent(r, 0) == n && extent(r, 1) == n, "R must be {0} x {0}, it is {1} x {2}", n,
                  extent(r, 0), extent(r, 1));
  if (n == 0) return;
  const ScopedFp32Products exact(Fp32Products::ieee);
  check_finite(operation, a);
  const S norm = linalg::frobenius_norm<S>(linalg::all_of(a));
  const Matrix<S> residual = scratch<S>("minigift::qr_residual", m, n);
  copy(residual, a);

  // The library wants columns next to each other: row j of `columns` is column j of a, then of Q.
  const Matrix<S> columns = scratch<S>("minigift::qr_columns", n, m);
  transpose<S>(a, columns);
  const Vector<S> factors = stream_scratch<S>("minigift::qr_factors", n),
                  signs = stream_scratch<S>("minigift::qr_signs", n);
  int info = linalg::cuda::qr_reflectors(stream(), m, n, columns.data(), factors.data());
  operation.check(info == 0, "cuSOLVER's geqrf failed (info {})", info);
  take_r(columns, r, signs);
  info = linalg::cuda::qr_vectors(stream(), m, n, columns.data(), static_cast<const S*>(factors.data()));
  operation.check(info == 0, "cuSOLVER's orgqr failed (info {})", info);
  take_q(columns, signs, a);

  gemm<S, S>(Transpose::no, Transpose::no, S(-1), a, r, S(1), residual);
  check_small(operation, "the residual A - Q R", linalg::largest_magnitude<S>(linalg::all_of(residual)),
              tolerance<S>(m) * norm);
  const Matrix<S> gram = scratch<S>("minigift::qr_gram", n, n);
  gemm<S, S>(Transpose::yes, Transpose::no, S(1), a, a, S(0), gram);
  check_identity(operation, gram, m);
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
