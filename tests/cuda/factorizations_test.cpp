// cuSOLVER's factorizations and cuBLAS's triangular solve, column-major, by what they must reproduce.

#include "kernels/linalg/cuda/factorizations.hpp"

#include "tests/cuda/device.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <cmath>
#include <limits>

namespace minigift {
namespace {

using test::DeviceArray;
using Values = std::vector<double>;

constexpr std::int64_t sizes[] = {1, 2, 17, 40, 129};

/// Column-major (i, j) of a matrix of `rows` rows.
std::size_t at(std::int64_t i, std::int64_t j, std::int64_t rows) {
  return static_cast<std::size_t>(i + j * rows);
}
/// x (m, k) y (k, n)
Values product(const Values& x, const Values& y, std::int64_t m, std::int64_t k, std::int64_t n) {
  Values z(static_cast<std::size_t>(m * n), 0.0);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t i = 0; i < m; ++i)
        z[at(i, j, m)] += x[at(i, l, m)] * y[at(l, j, k)];
  return z;
}
Values transposed(const Values& x, std::int64_t m, std::int64_t n) {
  Values y(x.size());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      y[at(j, i, n)] = x[at(i, j, m)];
  return y;
}
Values upper_triangle(const Values& x, std::int64_t m, std::int64_t n) {
  Values y(static_cast<std::size_t>(n * n), 0.0);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i <= j; ++i)
      y[at(i, j, n)] = x[at(i, j, m)];
  return y;
}
Values identity(std::int64_t n) {
  Values y(static_cast<std::size_t>(n * n), 0.0);
  for (std::int64_t i = 0; i < n; ++i)
    y[at(i, i, n)] = 1;
  return y;
}
double norm(const Values& x) {
  double sum = 0;
  for (const double value : x)
    sum += value * value;
  return std::sqrt(sum);
}
void expect_close(const Values& x, const Values& y, double bound) {
  for (std::size_t i = 0; i < y.size(); ++i)
    ASSERT_TRUE(std::abs(x[i] - y[i]) <= bound)
        << "element " << i << ": " << x[i] << " against " << y[i] << ", bound " << bound;
}

template <class S>
std::vector<S> symmetric(std::int64_t n, double shift) {
  const Values x = test::to_double(test::gaussian<S>(n * n, 5));
  std::vector<S> a(x.size());
  const Values gram = product(x, transposed(x, n, n), n, n, n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      a[at(i, j, n)] = static_cast<S>(gram[at(std::max(i, j), std::min(i, j), n)] + (i == j ? shift : 0));
  return a;
}

template <class S>
class CudaFactorizations : public test::OnDevice {
 protected:
  void TearDown() override {
    if (stream != nullptr) linalg::cuda::release_factorizations();
    OnDevice::TearDown();
  }
  static double bound(std::int64_t n) {
    return 10 * std::sqrt(static_cast<double>(n)) * std::numeric_limits<S>::epsilon();
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaFactorizations, Scalars);

TYPED_TEST(CudaFactorizations, SymmetricEigen) {
  using S = TypeParam;
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<S> a = symmetric<S>(n, -static_cast<double>(n));
    const DeviceArray<S> vectors(a, this->stream),
        values(std::vector<S>(static_cast<std::size_t>(n)), this->stream);
    ASSERT_EQ(linalg::cuda::symmetric_eigen(this->stream, n, vectors.data(), values.data()), 0);
    const Values v = test::to_double(vectors.values()), lambda = test::to_double(values.values());
    for (std::size_t i = 1; i < lambda.size(); ++i)
      EXPECT_LE(lambda[i - 1], lambda[i]);
    Values scaled = v;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        scaled[at(i, j, n)] *= lambda[static_cast<std::size_t>(j)];
    const Values exact = test::to_double(a);
    expect_close(product(scaled, transposed(v, n, n), n, n, n), exact, this->bound(n) * norm(exact));
    expect_close(product(transposed(v, n, n), v, n, n, n), identity(n), this->bound(n));
  }
}

TYPED_TEST(CudaFactorizations, CholeskyAndSolve) {
  using S = TypeParam;
  const std::int64_t m = 13;
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<S> a = symmetric<S>(n, 0.1 * static_cast<double>(n));
    const DeviceArray<S> factor(a, this->stream);
    ASSERT_EQ(linalg::cuda::cholesky_upper(this->stream, n, factor.data()), 0);
    const Values u = upper_triangle(test::to_double(factor.values()), n, n), exact = test::to_double(a);
    expect_close(product(transposed(u, n, n), u, n, n, n), exact, this->bound(n) * norm(exact));

    const std::vector<S> right = test::gaussian<S>(n * m, 8);
    const DeviceArray<S> b(right, this->stream);
    linalg::cuda::solve_upper_transposed_left<S>(this->stream, n, m, factor.data(), b.data());
    const Values x = test::to_double(b.values());
    expect_close(product(transposed(u, n, n), x, n, n, m), test::to_double(right),
                 this->bound(n) * norm(x) * norm(u));
  }
}

TYPED_TEST(CudaFactorizations, CholeskyNamesTheMinor) {
  using S = TypeParam;
  const DeviceArray<S> indefinite(std::vector<S>{1, 2, 0, 2, 1, 0, 0, 0, 1}, this->stream);
  EXPECT_EQ(linalg::cuda::cholesky_upper(this->stream, 3, indefinite.data()), 2);
}

TYPED_TEST(CudaFactorizations, Qr) {
  using S = TypeParam;
  for (const auto& [m, n] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 1}, {5, 5}, {129, 40}, {300, 17}}) {
    SCOPED_TRACE(m);
    const std::vector<S> a = test::gaussian<S>(m * n, 9);
    const DeviceArray<S> factor(a, this->stream),
        scales(std::vector<S>(static_cast<std::size_t>(n)), this->stream);
    ASSERT_EQ(linalg::cuda::qr_reflectors(this->stream, m, n, factor.data(), scales.data()), 0);
    const Values r = upper_triangle(test::to_double(factor.values()), m, n);
    ASSERT_EQ(linalg::cuda::qr_vectors<S>(this->stream, m, n, factor.data(), scales.data()), 0);
    const Values q = test::to_double(factor.values()), exact = test::to_double(a);
    expect_close(product(q, r, m, n, n), exact, this->bound(m) * norm(exact));
    expect_close(product(transposed(q, m, n), q, n, m, n), identity(n), this->bound(m));
  }
}

/// Needs the library, not a device.
TEST(CudaLibraries, CusolverNamesItsVersion) {
  EXPECT_NE(linalg::cuda::cusolver_version().find("cuSOLVER 1"), std::string::npos)
      << linalg::cuda::cusolver_version();
}

}  // namespace
}  // namespace minigift
