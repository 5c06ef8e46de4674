// Factorizations: what they promise, checked in double outside the library's own checks, at odd sizes down
// to 1.

#include "kernels/error.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"
#include "kernels/reference/whitening.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace minigift {
namespace {

using test::to_double;
using test::values_of;
using Values = std::vector<double>;

constexpr std::int64_t sizes[] = {1, 2, 3, 17, 40, 129};

std::size_t at(std::int64_t i, std::int64_t j, std::int64_t columns) {
  return static_cast<std::size_t>(i * columns + j);
}

Values transposed(const Values& a, std::int64_t m, std::int64_t n) {
  Values b(a.size());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      b[at(j, i, m)] = a[at(i, j, n)];
  return b;
}
double largest_difference(const Values& a, const Values& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}
Values identity(std::int64_t n) {
  Values values(static_cast<std::size_t>(n * n), 0.0);
  for (std::int64_t i = 0; i < n; ++i)
    values[at(i, i, n)] = 1;
  return values;
}
double norm(const Values& a) {
  double sum = 0;
  for (const double value : a)
    sum += value * value;
  return std::sqrt(sum);
}

/// Symmetric, with eigenvalues of both signs, exactly symmetric in S.
template <class S>
std::vector<S> symmetric(std::int64_t n, std::uint64_t seed) {
  std::vector<S> a = test::gaussian<S>(n * n, seed);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j)
      a[at(i, j, n)] = a[at(j, i, n)];
  return a;
}
/// X X^T + n/10 I, exactly symmetric in S.
template <class S>
std::vector<S> positive_definite(std::int64_t n, std::uint64_t seed) {
  const Values x = to_double(test::gaussian<S>(n * n, seed));
  const Values gram = reference::product(x, transposed(x, n, n), n, n, n);
  std::vector<S> a(gram.size());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      a[at(i, j, n)] = static_cast<S>(gram[at(std::max(i, j), std::min(i, j), n)] +
                                      (i == j ? 0.1 * static_cast<double>(n) : 0));
  return a;
}

/// A few sqrt(n) u: what a backward-stable algorithm leaves, a tenth of what the library accepts.
template <class S>
double bound(std::int64_t n) {
  return 10 * std::sqrt(static_cast<double>(n)) * std::numeric_limits<S>::epsilon();
}

template <class S>
class Factorize : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Factorize, Scalars);

TYPED_TEST(Factorize, SymmetricEigen) {
  using S = TypeParam;
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<S> input = symmetric<S>(n, 5);
    const Matrix<S> a = test::to_matrix(input, n, n);
    const Vector<S> lambda("lambda", static_cast<std::size_t>(n));
    symmetric_eigen(a, lambda);
    const Values v = to_double(values_of(a)), values = to_double(values_of(lambda));
    for (std::size_t i = 1; i < values.size(); ++i)
      EXPECT_LE(values[i - 1], values[i]);
    Values scaled = v;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        scaled[at(i, j, n)] *= values[static_cast<std::size_t>(j)];
    const Values rebuilt = reference::product(scaled, transposed(v, n, n), n, n, n);
    EXPECT_LE(largest_difference(rebuilt, to_double(input)), bound<S>(n) * norm(to_double(input)));
    EXPECT_LE(largest_difference(reference::product(transposed(v, n, n), v, n, n, n), identity(n)),
              bound<S>(n));
  }
}

TYPED_TEST(Factorize, SymmetricEigenKnownSpectrum) {
  using S = TypeParam;
  // The second-difference matrix of order n: 2 - 2 cos(pi j / (n + 1)).
  const std::int64_t n = 23;
  std::vector<S> a(static_cast<std::size_t>(n * n), S(0));
  for (std::int64_t i = 0; i < n; ++i) {
    a[at(i, i, n)] = 2;
    if (i > 0) a[at(i, i - 1, n)] = a[at(i - 1, i, n)] = -1;
  }
  const Vector<S> lambda("lambda", static_cast<std::size_t>(n));
  symmetric_eigen(test::to_matrix(a, n, n), lambda);
  const std::vector<S> values = values_of(lambda);
  const double pi = std::acos(-1.0);
  for (std::int64_t j = 1; j <= n; ++j)
    EXPECT_NEAR(values[static_cast<std::size_t>(j - 1)],
                2 - 2 * std::cos(pi * static_cast<double>(j) / static_cast<double>(n + 1)), 4 * bound<S>(n));
}

TYPED_TEST(Factorize, ZeroMatrixHasZeroSpectrum) {
  using S = TypeParam;
  const Matrix<S> a("a", 5, 5);
  const Vector<S> lambda("lambda", 5);
  symmetric_eigen(a, lambda);
  EXPECT_EQ(values_of(lambda), std::vector<S>(5, S(0)));
}

TYPED_TEST(Factorize, CholeskyAndSolve) {
  using S = TypeParam;
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<S> input = positive_definite<S>(n, 7);
    const Matrix<S> l = test::to_matrix(input, n, n);
    cholesky_lower(l);
    const Values lower = to_double(values_of(l));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j)
        EXPECT_EQ(lower[at(i, j, n)], 0);
    EXPECT_LE(
        largest_difference(reference::product(lower, transposed(lower, n, n), n, n, n), to_double(input)),
        bound<S>(n) * norm(to_double(input)));

    const std::int64_t m = 13;
    const std::vector<S> right = test::gaussian<S>(m * n, 8);
    const Matrix<S> b = test::to_matrix(right, m, n);
    solve_lower_transposed_right<S>(l, b);
    const Values x = to_double(values_of(b));
    EXPECT_LE(largest_difference(reference::product(x, transposed(lower, n, n), m, n, n), to_double(right)),
              bound<S>(n) * norm(x) * norm(lower));
  }
}

TYPED_TEST(Factorize, ThinQr) {
  using S = TypeParam;
  for (const auto& [m, n] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 1}, {5, 5}, {129, 40}, {300, 17}}) {
    SCOPED_TRACE(m);
    const std::vector<S> input = test::gaussian<S>(m * n, 9);
    const Matrix<S> a = test::to_matrix(input, m, n);
    const Matrix<S> r("r", static_cast<std::size_t>(n), static_cast<std::size_t>(n));
    thin_qr(a, r);
    const Values q = to_double(values_of(a)), triangle = to_double(values_of(r));
    for (std::int64_t i = 0; i < n; ++i) {
      EXPECT_GT(triangle[at(i, i, n)], 0);
      for (std::int64_t j = 0; j < i; ++j)
        EXPECT_EQ(triangle[at(i, j, n)], 0);
    }
    EXPECT_LE(largest_difference(reference::product(q, triangle, m, n, n), to_double(input)),
              bound<S>(m) * norm(to_double(input)));
    EXPECT_LE(largest_difference(reference::product(transposed(q, m, n), q, n, m, n), identity(n)),
              bound<S>(m));
  }
}

TYPED_TEST(Factorize, ThinQrOfZeroIsStillOrthonormal) {
  using S = TypeParam;
  const Matrix<S> a("a", 11, 4), r("r", 4, 4);
  thin_qr(a, r);
  const Values q = to_double(values_of(a));
  EXPECT_LE(largest_difference(reference::product(transposed(q, 11, 4), q, 4, 11, 4), identity(4)),
            bound<S>(11));
  EXPECT_EQ(norm(to_double(values_of(r))), 0);
}

TYPED_TEST(Factorize, EmptyMatrices) {
  using S = TypeParam;
  symmetric_eigen(Matrix<S>("a", 0, 0), Vector<S>("l", 0));
  cholesky_lower(Matrix<S>("a", 0, 0));
  solve_lower_transposed_right<S>(Matrix<S>("l", 3, 3), Matrix<S>("b", 0, 3));
  thin_qr(Matrix<S>("a", 5, 0), Matrix<S>("r", 0, 0));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "no error";
}
void expect_message(const std::string& message, const std::string& operation, const std::string& cause) {
  EXPECT_NE(message.find(operation), std::string::npos) << message;
  EXPECT_NE(message.find(cause), std::string::npos) << message;
}

TYPED_TEST(Factorize, RefusesNonFiniteInput) {
  using S = TypeParam;
  for (const S poison : {std::numeric_limits<S>::quiet_NaN(), std::numeric_limits<S>::infinity()}) {
    std::vector<S> values = positive_definite<S>(6, 1);
    values[at(4, 3, 6)] = poison;
    const auto poisoned = [&] { return test::to_matrix(values, 6, 6); };
    const Vector<S> lambda("lambda", 6);
    const Matrix<S> r("r", 6, 6);
    expect_message(message_of([&] { symmetric_eigen(poisoned(), lambda); }), "eigendecomposition of a 6 x 6",
                   "element (4, 3)");
    expect_message(message_of([&] { cholesky_lower(poisoned()); }), "Cholesky factorization of a 6 x 6",
                   "element (4, 3)");
    expect_message(message_of([&] { thin_qr(poisoned(), r); }), "QR factorization of a 6 x 6",
                   "element (4, 3)");
    expect_message(
        message_of([&] { solve_lower_transposed_right<S>(poisoned(), test::gaussian_matrix<S>(2, 6, 1)); }),
        "triangular solve of a 2 x 6", "element (4, 3)");
  }
}

TYPED_TEST(Factorize, RefusesWhatHasNoFactor) {
  using S = TypeParam;
  const Matrix<S> indefinite = test::to_matrix(std::vector<S>{1, 2, 0, 2, 1, 0, 0, 0, 1}, 3, 3);
  expect_message(message_of([&] { cholesky_lower(indefinite); }), "Cholesky factorization of a 3 x 3",
                 "minor of order 2");
  const Matrix<S> singular = test::to_matrix(std::vector<S>{1, 0, 1, 0}, 2, 2);
  expect_message(message_of([&] { solve_lower_transposed_right<S>(singular, Matrix<S>("b", 1, 2)); }),
                 "triangular solve of a 1 x 2", "diagonal element 1 is zero");
  expect_message(message_of([&] { thin_qr(Matrix<S>("a", 2, 3), Matrix<S>("r", 3, 3)); }),
                 "QR factorization of a 2 x 3", "at least as many rows");
  expect_message(message_of([&] { symmetric_eigen(Matrix<S>("a", 2, 3), Vector<S>("l", 2)); }),
                 "eigendecomposition of a 2 x 3", "square");
}

TYPED_TEST(Factorize, SumsOfSquares) {
  using S = TypeParam;
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 1000}, {77, 65}, {5, 1025}}) {
    const std::vector<S> values = test::gaussian<S>(m * n, 2);
    const Matrix<S> a = test::to_matrix(values, m, n);
    Values columns(static_cast<std::size_t>(n), 0.0), rows(static_cast<std::size_t>(m), 0.0);
    double total = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const double square = std::pow(static_cast<double>(values[at(i, j, n)]), 2);
        columns[static_cast<std::size_t>(j)] += square;
        rows[static_cast<std::size_t>(i)] += square;
        total += square;
      }
    const Vector<double> column_sums("columns", static_cast<std::size_t>(n)),
        row_sums("rows", static_cast<std::size_t>(m));
    column_sums_of_squares<S>(a, column_sums);
    row_sums_of_squares<S>(a, row_sums);
    EXPECT_NEAR(sum_of_squares<S>(flatten(a)), total, 1e-12 * total);
    EXPECT_LE(largest_difference(values_of(column_sums), columns), 1e-12 * total);
    EXPECT_LE(largest_difference(values_of(row_sums), rows), 1e-12 * total);
  }
  // Squares beyond the range of float.
  if (std::is_same_v<S, float>) {
    const Vector<S> large = test::to_vector(std::vector<S>{S(3e30), S(4e30)});
    EXPECT_NEAR(std::sqrt(sum_of_squares<S>(large)), 5e30, 1e24);
  }
}

}  // namespace
}  // namespace minigift
