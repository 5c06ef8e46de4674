// Products against a serial oracle in double, within the rounding that any order of summation can cause.

#include "kernels/error.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/host_mirror.hpp"
#include "kernels/reference/gemm.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace minigift {
namespace {

struct Case {
  std::int64_t m, n, k;
};

template <class In>
std::vector<In> inputs(std::int64_t count, std::uint64_t seed) {
  return test::gaussian<In>(count, seed);
}
template <>
std::vector<bfloat16> inputs(std::int64_t count, std::uint64_t seed) {
  std::vector<bfloat16> rounded;
  for (const float value : test::gaussian<float>(count, seed))
    rounded.push_back(to_bfloat16(value));
  return rounded;
}
double exact(double value) {
  return value;
}
double exact(bfloat16 value) {
  return to_float(value);
}
template <class In>
std::vector<double> exact_values(const std::vector<In>& values) {
  std::vector<double> result;
  for (const In value : values)
    result.push_back(exact(value));
  return result;
}

/// Every element within (k + 3) u (|alpha||a||b| + |beta||c|): k roundings of the sum, one each for alpha,
/// beta and their sum. A fused or blocked order only does better.
template <class In, class Out>
void expect_product(const Case& extents, Transpose ta, Transpose tb, Out alpha, Out beta) {
  const auto [m, n, k] = extents;
  SCOPED_TRACE(fmt::format("m {} n {} k {} ta {} tb {} alpha {} beta {}", m, n, k, ta == Transpose::yes,
                           tb == Transpose::yes, alpha, beta));
  const std::vector<In> a = inputs<In>(m * k, 1), b = inputs<In>(k * n, 2);
  // beta = 0 must not read c.
  const std::vector<Out> c = beta == Out(0) ? std::vector<Out>(static_cast<std::size_t>(m * n),
                                                               std::numeric_limits<Out>::quiet_NaN())
                                            : test::gaussian<Out>(m * n, 3);
  const Matrix<Out> result = test::to_matrix(c, m, n);
  const auto stored = [](const std::vector<In>& values, Transpose t, std::int64_t rows,
                         std::int64_t columns) {
    return t == Transpose::yes ? test::to_matrix(values, columns, rows)
                               : test::to_matrix(values, rows, columns);
  };
  gemm<In, Out>(ta, tb, alpha, stored(a, ta, m, k), stored(b, tb, k, n), beta, result);
  const reference::Product expected =
      reference::gemm(ta, tb, m, n, k, alpha, exact_values(a), exact_values(b), beta, test::to_double(c));
  const std::vector<Out> actual = test::values_of(result);
  const double u = std::numeric_limits<Out>::epsilon() / 2;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double bound = static_cast<double>(k + 3) * u * expected.magnitude[i];
    ASSERT_TRUE(std::abs(static_cast<double>(actual[i]) - expected.value[i]) <= bound)
        << "element " << i << ": " << actual[i] << " against " << expected.value[i] << ", bound " << bound;
  }
}

template <class In, class Out>
void expect_all_cases() {
  for (const Case& extents : {Case{1, 1, 1}, Case{1, 7, 3}, Case{5, 1, 9}, Case{13, 17, 1}, Case{33, 31, 65},
                              Case{64, 64, 64}, Case{127, 40, 200}, Case{48, 129, 300}, Case{70, 32, 513}})
    for (const Transpose ta : {Transpose::no, Transpose::yes})
      for (const Transpose tb : {Transpose::no, Transpose::yes}) {
        expect_product<In, Out>(extents, ta, tb, Out(1), Out(0));
        expect_product<In, Out>(extents, ta, tb, Out(1), Out(1));
        expect_product<In, Out>(extents, ta, tb, Out(-0.75), Out(0.3));
      }
}

TEST(Gemm, Float) {
  expect_all_cases<float, float>();
}
TEST(Gemm, Double) {
  expect_all_cases<double, double>();
}
TEST(Gemm, Bfloat16) {
  expect_all_cases<bfloat16, float>();
}

TEST(Gemm, LayerSizes) {
  expect_product<float, float>({256, 384, 512}, Transpose::no, Transpose::yes, 1.0f, 0.0f);
  expect_product<float, float>({384, 256, 512}, Transpose::yes, Transpose::no, 1.0f, 1.0f);
  expect_product<bfloat16, float>({256, 384, 512}, Transpose::no, Transpose::yes, 1.0f, 0.0f);
  expect_product<bfloat16, float>({384, 256, 512}, Transpose::yes, Transpose::no, 1.0f, 1.0f);
  expect_product<double, double>({200, 300, 500}, Transpose::yes, Transpose::no, 1.0, 1.0);
}

/// Shapes on both sides of the choice between oneDNN's kernels, with every treatment of c.
TEST(Gemm, WideBfloat16Results) {
  for (const Transpose ta : {Transpose::no, Transpose::yes})
    for (const Transpose tb : {Transpose::no, Transpose::yes}) {
      expect_product<bfloat16, float>({1030, 520, 33}, ta, tb, 1.0f, 1.0f);
      expect_product<bfloat16, float>({70, 390, 65}, ta, tb, -0.75f, 0.3f);
      expect_product<bfloat16, float>({1024, 515, 20}, ta, tb, 2.0f, 0.0f);
    }
}

/// Equal calls give equal bits: replicas rely on it.
TEST(Gemm, RepeatsItsBits) {
  const Matrix<float> a = test::gaussian_matrix<float>(123, 456, 1),
                      b = test::gaussian_matrix<float>(456, 78, 2);
  std::vector<float> first;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const Matrix<float> c("c", 123, 78);
    gemm<float, float>(Transpose::no, Transpose::no, 1.0f, a, b, 0.0f, c);
    if (repetition == 0) first = test::values_of(c);
    EXPECT_EQ(test::values_of(c), first);
  }
}

template <class In, class Out>
void expect_zero_extents() {
  const Matrix<Out> c = test::to_matrix(std::vector<Out>{1, 2, 3, 4, 5, 6}, 2, 3);
  gemm<In, Out>(Transpose::no, Transpose::no, Out(1), Matrix<In>("a", 2, 0), Matrix<In>("b", 0, 3), Out(0.5),
                c);
  EXPECT_EQ(test::values_of(c), (std::vector<Out>{0.5, 1, 1.5, 2, 2.5, 3}));
  const Matrix<Out> poisoned =
      test::to_matrix(std::vector<Out>(6, std::numeric_limits<Out>::quiet_NaN()), 2, 3);
  gemm<In, Out>(Transpose::yes, Transpose::yes, Out(1), Matrix<In>("a", 0, 2), Matrix<In>("b", 3, 0), Out(0),
                poisoned);
  EXPECT_EQ(test::values_of(poisoned), std::vector<Out>(6, Out(0)));
  gemm<In, Out>(Transpose::no, Transpose::no, Out(1), Matrix<In>("a", 0, 4), Matrix<In>("b", 4, 3), Out(0),
                Matrix<Out>("c", 0, 3));
  gemm<In, Out>(Transpose::no, Transpose::no, Out(1), Matrix<In>("a", 2, 4), Matrix<In>("b", 4, 0), Out(0),
                Matrix<Out>("c", 2, 0));
}

TEST(Gemm, ZeroExtents) {
  expect_zero_extents<float, float>();
  expect_zero_extents<double, double>();
  expect_zero_extents<bfloat16, float>();
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Gemm, NamesShapesThatDoNotFit) {
  const std::string message = message_of([] {
    gemm<float, float>(Transpose::no, Transpose::yes, 1.0f, Matrix<float>("a", 2, 3),
                       Matrix<float>("b", 4, 5), 0.0f, Matrix<float>("c", 2, 4));
  });
  EXPECT_NE(message.find("a (2, 3) times b (4, 5)^T does not give c (2, 4)"), std::string::npos) << message;
}

/// The check comes before any access, so the memory need not exist.
TEST(Gemm, NamesExtentsBeyondTheBlasIndexType) {
  if (!linalg::host_can_read) GTEST_SKIP() << "cuBLASLt has no such limit";
  double storage = 0;
  const std::size_t beyond = (std::size_t{1} << 31);
  const Matrix<const double> a(&storage, 1, beyond), b(&storage, beyond, 1);
  const Matrix<double> c(&storage, 1, 1);
  const std::string message = message_of([&] { gemm(Transpose::no, Transpose::no, 1.0, a, b, 0.0, c); });
  EXPECT_NE(message.find("(1 x 2147483648) (2147483648 x 1)"), std::string::npos) << message;
  EXPECT_NE(message.find("2147483647"), std::string::npos) << message;
}

TEST(Backend, NamesLibrariesAndThreads) {
  set_linalg_threads(1);
  const std::string backend = linalg_backend();
  EXPECT_NE(backend.find("BLAS"), std::string::npos) << backend;
  EXPECT_NE(backend.find("BF16"), std::string::npos) << backend;
  if (linalg::host_can_read) {
    EXPECT_NE(backend.find("hardware"), std::string::npos) << backend;
    EXPECT_NE(backend.find(", 1 thread"), std::string::npos) << backend;
  }
  EXPECT_THROW(set_linalg_threads(0), RuntimeError);
  RecordProperty("backend", backend);
}

}  // namespace
}  // namespace minigift
