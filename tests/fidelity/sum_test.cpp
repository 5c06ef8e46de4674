// The emulated sums against independent ones.

#include "kernels/device/memory.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/format/scale.hpp"
#include "kernels/reference/native_all_reduce.hpp"
#include "kernels/slice.hpp"
#include "miniapp/fidelity/sum_emulation.hpp"
#include "tests/kernels/gradient_generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace minigift {
namespace {

constexpr int ranks = 3;
constexpr std::int64_t count = 3 * 1000;

/// Room for a code of any format, which the oracle's functions must see.
using Code = std::array<std::uint8_t, 4>;

/// Ranks whose magnitudes differ, so that scales of their own differ.
Matrix<float> rank_gradients() {
  const Matrix<float> x = test::normal_matrix<float>(ranks, count, 7, 1);
  for (int r = 0; r < ranks; ++r) {
    const Vector<float> row = flatten(row_slice(x, r, 1));
    const HostVector<float> host = on_host(row);
    for (std::int64_t i = 0; i < count; ++i)
      host(i) *= static_cast<float>(1 << r);
    copy(row, host);
  }
  return x;
}

std::vector<float> values(const Vector<float>& v) {
  const auto host = on_host(v);
  return {host.data(), host.data() + host.size()};
}

float amax_of(const HostMatrix<float>& x, int rank) {
  float amax = 0;
  for (std::int64_t i = 0; i < count; ++i)
    amax = std::max(amax, std::abs(x(rank, i)));
  return amax;
}

std::vector<std::uint8_t> encoded(Format format, const HostMatrix<float>& x, int rank, float scale) {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count * bytes_per_code(format)));
  for (std::int64_t i = 0; i < count; ++i)
    reference::encode(format, x(rank, i) / scale,
                      &codes[static_cast<std::size_t>(i * bytes_per_code(format))]);
  return codes;
}

class SumOf : public ::testing::TestWithParam<Format> {};

TEST_P(SumOf, RingAndTreeEqualTheirSerialForms) {
  const Format format = GetParam();
  const Matrix<float> x = rank_gradients();
  const HostMatrix<float> host = on_host(x);
  SumEmulation emulation(format, x);
  const Vector<float> mean("mean", count);
  const auto limit = static_cast<float>(max_finite(format));
  const float scale = power_of_two_scale(amax_of(host, 2), ranks, limit);
  std::vector<std::vector<std::uint8_t>> codes;
  for (int r = 0; r < ranks; ++r)
    codes.push_back(encoded(format, host, r, scale));

  emulation.mean(SumScheme::ring_synced, 0, mean);
  const auto ring = reference::native_all_reduce(format, codes);
  const auto ring_mean = values(mean);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(ring_mean[i], reference::decode(format, &ring[i]) * (scale * (1.0f / ranks))) << i;

  emulation.mean(SumScheme::tree_synced, 0, mean);
  const auto tree = values(mean);
  for (std::size_t i = 0; i < count; ++i) {
    Code pair{}, all{};
    reference::encode(format,
                      reference::decode(format, &codes[0][i]) + reference::decode(format, &codes[1][i]),
                      pair.data());
    reference::encode(
        format, reference::decode(format, pair.data()) + reference::decode(format, &codes[2][i]), all.data());
    ASSERT_EQ(tree[i], reference::decode(format, all.data()) * (scale * (1.0f / ranks))) << i;
  }
}

TEST_P(SumOf, AllToAllEqualsItsSerialForm) {
  const Format format = GetParam();
  const Matrix<float> x = rank_gradients();
  const HostMatrix<float> host = on_host(x);
  SumEmulation emulation(format, x);
  const Vector<float> mean("mean", count);
  emulation.mean(SumScheme::all_to_all, 0, mean);
  const auto got = values(mean);
  const auto limit = static_cast<float>(max_finite(format));
  for (int owner = 0; owner < ranks; ++owner) {
    std::vector<float> sum(count / ranks, 0.0f);
    float amax = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const auto at = static_cast<std::int64_t>(static_cast<std::size_t>(owner) * sum.size() + i);
      for (int r = 0; r < ranks; ++r) {
        const float scale = power_of_two_scale(amax_of(host, r), 1, limit);
        Code code{};
        reference::encode(format, host(r, at) / scale, code.data());
        sum[i] = std::fma(reference::decode(format, code.data()), scale, sum[i]);
      }
      amax = std::max(amax, std::abs(sum[i]));
    }
    const float scale = power_of_two_scale(amax, 1, limit);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      Code code{};
      reference::encode(format, sum[i] / scale, code.data());
      ASSERT_EQ(got[static_cast<std::size_t>(owner) * sum.size() + i],
                reference::decode(format, code.data()) * (scale * (1.0f / ranks)));
    }
  }
}

/// Algorithm 1 as printed is a mean weighted by 1 / scale: each rank's result is a multiple of the others'.
TEST_P(SumOf, OwnScalesGiveEachRankAnotherResult) {
  const Matrix<float> x = rank_gradients();
  SumEmulation emulation(GetParam(), x);
  const Vector<float> first("first", count), last("last", count);
  emulation.mean(SumScheme::ring_local, 0, first);
  emulation.mean(SumScheme::ring_local, ranks - 1, last);
  const auto a = values(first), b = values(last);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(b[i], 4.0f * a[i]);
  EXPECT_EQ(emulation.divergence(), 3.0);
}

INSTANTIATE_TEST_SUITE_P(Fp8, SumOf, ::testing::Values(Format::e4m3, Format::e5m2));

TEST(Resampled, MeanAndCovarianceAreTheRecordedOnes) {
  const Matrix<float> recorded = test::normal_matrix<float>(4, 50, 3, 1);
  const HostMatrix<float> r = on_host(recorded);
  constexpr std::int64_t drawn = 20000;
  const HostMatrix<float> x = on_host(resampled_gradients(recorded, drawn, 5));
  const auto mean = [](const HostMatrix<float>& m, std::size_t j) {
    double sum = 0;
    for (std::size_t i = 0; i < m.extent(0); ++i)
      sum += static_cast<double>(m(i, j));
    return sum / static_cast<double>(m.extent(0));
  };
  for (std::size_t j = 0; j < 50; j += 7) {
    for (std::size_t k = 0; k < 50; k += 11) {
      double got = 0, expected = 0;
      const double xj = mean(x, j), xk = mean(x, k), rj = mean(r, j), rk = mean(r, k);
      for (std::size_t i = 0; i < drawn; ++i)
        got += (static_cast<double>(x(i, j)) - xj) * (static_cast<double>(x(i, k)) - xk);
      for (std::size_t i = 0; i < 4; ++i)
        expected += (static_cast<double>(r(i, j)) - rj) * (static_cast<double>(r(i, k)) - rk);
      EXPECT_NEAR(got / (drawn - 1), expected / 3, 0.06) << j << " " << k;
    }
    EXPECT_NEAR(mean(x, j), mean(r, j), 0.05);
  }
}

}  // namespace
}  // namespace minigift
