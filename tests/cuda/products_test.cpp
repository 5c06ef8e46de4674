// cuBLASLt's products against sums in double, at aligned and unaligned addresses.

#include "kernels/linalg/cuda/products.hpp"

#include "kernels/format/bfloat16.hpp"
#include "kernels/reference/gemm.hpp"
#include "tests/cuda/device.hpp"
#include "tests/kernels/linalg_support.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

namespace minigift {
namespace {

using linalg::ProductShape;
using linalg::cuda::ProductKind;
using test::DeviceArray;

class CudaProducts : public test::OnDevice {
 protected:
  void TearDown() override {
    if (stream != nullptr) linalg::cuda::release_products();
    OnDevice::TearDown();
  }
};

template <class T>
std::vector<T> rounded(const std::vector<float>& values) {
  std::vector<T> result;
  for (const float value : values)
    if constexpr (std::is_same_v<T, bfloat16>)
      result.push_back(to_bfloat16(value));
    else
      result.push_back(static_cast<T>(value));
  return result;
}
double exact(double value) {
  return value;
}
double exact(bfloat16 value) {
  return to_float(value);
}
template <class T>
std::vector<double> exact_values(const std::vector<T>& values) {
  std::vector<double> result;
  for (const T value : values)
    result.push_back(exact(value));
  return result;
}

/// Each element within the roundings of its sum, twice as large where tensor cores sum by truncation, and of
/// its factors, which TF32 may cut to 10 bits.
template <class In, class Out>
void expect_product(cudaStream_t stream, ProductKind kind, const ProductShape& shape, double alpha,
                    double beta, std::size_t offset) {
  const auto& [m, n, k, ta, tb] = shape;
  SCOPED_TRACE(fmt::format("{} m {} n {} k {} ta {} tb {} alpha {} beta {} offset {}", name(kind), m, n, k,
                           ta, tb, alpha, beta, offset));
  const std::vector<In> a = rounded<In>(test::gaussian<float>(m * k, 1)),
                        b = rounded<In>(test::gaussian<float>(k * n, 2));
  const std::vector<Out> c =
      beta == 0 ? std::vector<Out>(static_cast<std::size_t>(m * n), std::numeric_limits<Out>::quiet_NaN())
                : test::gaussian<Out>(m * n, 3);
  const DeviceArray<In> device_a(a, stream, offset), device_b(b, stream, offset);
  const DeviceArray<Out> device_c(c, stream, offset), again(c, stream, offset);
  linalg::cuda::product(stream, kind, shape, alpha, device_a.data(), device_b.data(), beta, device_c.data());
  linalg::cuda::product(stream, kind, shape, alpha, device_a.data(), device_b.data(), beta, again.data());
  const std::vector<Out> actual = device_c.values();
  EXPECT_EQ(actual, again.values());
  const reference::Product expected =
      reference::gemm(ta ? Transpose::yes : Transpose::no, tb ? Transpose::yes : Transpose::no, m, n, k,
                      alpha, exact_values(a), exact_values(b), beta, test::to_double(c));
  const double u = std::numeric_limits<Out>::epsilon() / 2;
  const double relative =
      2 * static_cast<double>(k + 3) * u + (kind == ProductKind::tf32 ? std::exp2(-9) : 0.0);
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_TRUE(std::abs(static_cast<double>(actual[i]) - expected.value[i]) <=
                relative * expected.magnitude[i])
        << "element " << i << ": " << actual[i] << " against " << expected.value[i];
}

template <class In, class Out>
void expect_all(cudaStream_t stream, ProductKind kind) {
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {5, 1, 9}, {33, 31, 65}, {64, 128, 96}, {127, 40, 200}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
          expect_product<In, Out>(stream, kind, {m, n, k, ta, tb}, 1, 0, offset);
          expect_product<In, Out>(stream, kind, {m, n, k, ta, tb}, -0.75, 0.5, offset);
        }
}

TEST_F(CudaProducts, Fp32) {
  expect_all<float, float>(stream, ProductKind::fp32);
}
TEST_F(CudaProducts, Tf32) {
  if (!linalg::cuda::has_tensor_cores_for_tf32()) GTEST_SKIP() << "compute capability below 8.0";
  expect_all<float, float>(stream, ProductKind::tf32);
}
TEST_F(CudaProducts, Bfloat16) {
  expect_all<bfloat16, float>(stream, ProductKind::bf16);
}
TEST_F(CudaProducts, Fp64) {
  expect_all<double, double>(stream, ProductKind::fp64);
}

/// Needs the library, not a device.
TEST(CudaLibraries, CublasLtNamesItsVersion) {
  EXPECT_NE(linalg::cuda::cublaslt_version().find("cuBLASLt 1"), std::string::npos)
      << linalg::cuda::cublaslt_version();
}

}  // namespace
}  // namespace minigift
