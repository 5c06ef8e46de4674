// The scalars by which factorizations on a device are judged, and how products are handed to a column-major
// library: what of the CUDA side can be checked without a GPU.

#include "kernels/error.hpp"
#include "kernels/linalg/cuda/product_plan.hpp"
#include "kernels/linalg/device_checks.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/host_mirror.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace minigift {
namespace {

using linalg::ProductShape;
using linalg::cuda::alignment_of;
using linalg::cuda::column_major;
using linalg::cuda::ColumnMajorMatrix;
using linalg::cuda::PlanKey;
using linalg::cuda::PlanKeyHash;
using linalg::cuda::ProductKind;
using test::to_matrix;
using test::to_vector;

/// Element (i, j) of op(x), x column-major and contiguous.
double operated(const std::vector<double>& x, const ColumnMajorMatrix& matrix, std::int64_t i,
                std::int64_t j) {
  const std::int64_t row = matrix.transpose ? j : i, column = matrix.transpose ? i : j;
  return x.at(static_cast<std::size_t>(row + column * matrix.rows));
}

/// A column-major product by its definition, with the extents that a library would derive from its arguments.
void column_major_product(const linalg::cuda::ColumnMajorProduct& product, const std::vector<double>& first,
                          const std::vector<double>& second, std::vector<double>& result) {
  const std::int64_t inner = product.b.transpose ? product.b.rows : product.b.columns;
  const std::int64_t rows = product.b.transpose ? product.b.columns : product.b.rows;
  const std::int64_t columns = product.a.transpose ? product.a.rows : product.a.columns;
  ASSERT_EQ(inner, product.a.transpose ? product.a.columns : product.a.rows);
  ASSERT_EQ(rows, product.c.rows);
  ASSERT_EQ(columns, product.c.columns);
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (std::int64_t l = 0; l < inner; ++l)
        sum += operated(first, product.b, i, l) * operated(second, product.a, l, j);
      result.at(static_cast<std::size_t>(i + j * product.c.rows)) = sum;
    }
}

/// Small integers, whose products are exact: the row-major gemm and the translated product agree to the bit.
TEST(ProductPlan, ColumnMajorFormGivesTheRowMajorProduct) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {2, 3, 5}, {7, 4, 3}, {5, 1, 6}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        SCOPED_TRACE(fmt::format("m {} n {} k {} ta {} tb {}", m, n, k, ta, tb));
        std::vector<double> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
        for (std::size_t i = 0; i < a.size(); ++i)
          a[i] = static_cast<double>(i * i % 17) - 8;
        for (std::size_t i = 0; i < b.size(); ++i)
          b[i] = static_cast<double>(i * 7 % 13) - 6;
        const Matrix<double> c("c", static_cast<std::size_t>(m), static_cast<std::size_t>(n));
        gemm<double, double>(ta ? Transpose::yes : Transpose::no, tb ? Transpose::yes : Transpose::no, 1.0,
                             to_matrix(a, ta ? k : m, ta ? m : k), to_matrix(b, tb ? n : k, tb ? k : n), 0.0,
                             c);
        std::vector<double> translated(static_cast<std::size_t>(m * n));
        column_major_product(column_major({m, n, k, ta, tb}), b, a, translated);
        EXPECT_EQ(translated, test::values_of(c));
      }
}

TEST(ProductPlan, AlignmentIsWhatTheAddressHasUpToSixteenBytes) {
  alignas(64) static char memory[64];
  EXPECT_EQ(alignment_of(memory), 16u);
  EXPECT_EQ(alignment_of(memory + 32), 16u);
  EXPECT_EQ(alignment_of(memory + 2), 2u);
  EXPECT_EQ(alignment_of(memory + 4), 4u);
  EXPECT_EQ(alignment_of(memory + 12), 4u);
  EXPECT_EQ(alignment_of(memory + 24), 8u);
}

TEST(ProductPlan, KeysDifferInEverythingThatDecidesTheAlgorithm) {
  const ProductShape shape{64, 32, 16, false, false};
  const std::vector<PlanKey> keys = {{ProductKind::fp32, shape},
                                     {ProductKind::tf32, shape},
                                     {ProductKind::bf16, shape},
                                     {ProductKind::fp64, shape},
                                     {ProductKind::fp32, {32, 64, 16, false, false}},
                                     {ProductKind::fp32, {64, 32, 17, false, false}},
                                     {ProductKind::fp32, {64, 32, 16, true, false}},
                                     {ProductKind::fp32, {64, 32, 16, false, true}},
                                     {ProductKind::fp32, shape, 4},
                                     {ProductKind::fp32, shape, 16, 4},
                                     {ProductKind::fp32, shape, 16, 16, 4}};
  std::set<std::size_t> hashes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes.insert(PlanKeyHash()(keys[i]));
    for (std::size_t j = 0; j < keys.size(); ++j)
      EXPECT_EQ(keys[i] == keys[j], i == j) << i << " " << j;
  }
  EXPECT_EQ(hashes.size(), keys.size());
}

TEST(Fp32Products, HostsRefuseTf32) {
  EXPECT_EQ(fp32_products(), Fp32Products::ieee);
  { const ScopedFp32Products same(Fp32Products::ieee); }
  if (!linalg::host_can_read) GTEST_SKIP() << "the device may have it";
  try {
    const ScopedFp32Products scope(Fp32Products::tf32);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("TF32 products need"), std::string::npos) << error.what();
  }
  EXPECT_EQ(fp32_products(), Fp32Products::ieee);
}

template <class S>
class DeviceChecks : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceChecks, Scalars);

TYPED_TEST(DeviceChecks, FindTheFirstOfWhatMustNotBe) {
  using S = TypeParam;
  const S nan = std::numeric_limits<S>::quiet_NaN(), infinity = std::numeric_limits<S>::infinity();
  const auto first = [](const std::vector<S>& x) { return linalg::first_not_finite<S>(to_vector(x)); };
  EXPECT_EQ(first({1, 2, std::numeric_limits<S>::max(), -std::numeric_limits<S>::max(), 0}), -1);
  EXPECT_EQ(first({1, nan, infinity}), 1);
  EXPECT_EQ(first({1, 0, -infinity, nan}), 2);
  EXPECT_EQ(first({}), -1);
  const auto zero = [](const std::vector<S>& a, std::int64_t n) {
    return linalg::first_zero_on_diagonal<S>(to_matrix(a, n, n));
  };
  EXPECT_EQ(zero({1, 0, 0, 2}, 2), -1);
  EXPECT_EQ(zero({1, 0, 0, 0, S(-0.0), 0, 0, 0, 0}, 3), 1);
  EXPECT_EQ(linalg::element<S>(to_vector(std::vector<S>{3, 4, 5}), 2), S(5));
}

TYPED_TEST(DeviceChecks, LargestMagnitudeFailsOnNotANumber) {
  using S = TypeParam;
  const auto largest = [](const std::vector<S>& x) { return linalg::largest_magnitude<S>(to_vector(x)); };
  EXPECT_EQ(largest({}), S(0));
  EXPECT_EQ(largest({0, 0}), S(0));
  EXPECT_EQ(largest({1, -3, 2}), S(3));
  EXPECT_EQ(largest({1, std::numeric_limits<S>::quiet_NaN(), 2}), std::numeric_limits<S>::infinity());
  EXPECT_EQ(linalg::largest_diagonal<S>(to_matrix(std::vector<S>{2, 9, 9, 5}, 2, 2)), S(5));
  EXPECT_EQ(linalg::largest_diagonal<S>(to_matrix(std::vector<S>{-2, 9, 9, -5}, 2, 2)), S(0));
}

TYPED_TEST(DeviceChecks, NormsAreScaled) {
  using S = TypeParam;
  const S large = std::numeric_limits<S>::max() / 8, small = std::numeric_limits<S>::min() * 8;
  const S u = std::numeric_limits<S>::epsilon();
  const auto norm = [](const std::vector<S>& x) { return linalg::frobenius_norm<S>(to_vector(x)); };
  EXPECT_EQ(norm({0, 0}), S(0));
  EXPECT_NEAR(norm({3, -4}), 5, 8 * u);
  EXPECT_NEAR(norm({3 * large, 4 * large}) / large, 5, 16 * u);
  EXPECT_NEAR(norm({3 * small, 4 * small}) / small, 5, 16 * u);
  const Matrix<S> a = to_matrix(std::vector<S>{3 * large, 4 * large, 0, 0, 5 * small, 12 * small}, 3, 2);
  const Vector<S> norms("norms", 3);
  linalg::row_norms<S>(a, norms);
  const std::vector<S> rows = test::values_of(norms);
  EXPECT_NEAR(rows[0] / large, 5, 16 * u);
  EXPECT_EQ(rows[1], S(0));
  EXPECT_NEAR(rows[2] / small, 13, 32 * u);
}

TYPED_TEST(DeviceChecks, RelativeResidualFailsWhereItMust) {
  using S = TypeParam;
  const auto largest = [](const std::vector<S>& a) {
    return linalg::largest_relative<S>(to_matrix(a, 2, 2), to_vector(std::vector<S>{2, 0}),
                                       to_vector(std::vector<S>{1, 4}));
  };
  EXPECT_EQ(largest({0, 0, 0, 0}), S(0));
  EXPECT_EQ(largest({1, -16, 0, 0}), S(2));
  EXPECT_EQ(largest({0, 0, 1, 0}), std::numeric_limits<S>::infinity());
  EXPECT_EQ(largest({0, std::numeric_limits<S>::quiet_NaN(), 0, 0}), std::numeric_limits<S>::infinity());
}

}  // namespace
}  // namespace minigift
