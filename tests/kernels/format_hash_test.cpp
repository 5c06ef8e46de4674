// content_hash sees every single-bit change, every swap and the length; count_non_finite counts.

#include "kernels/error.hpp"
#include "kernels/format/hash.hpp"
#include "kernels/format/host_hash.hpp"
#include "tests/kernels/format_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace {

using namespace minigift;
using namespace minigift::test;

TEST(ContentHash, SeesEverySingleBit) {
  const std::vector<float> x = normal_values(300, 1.0f, 81);
  const std::uint64_t original = content_hash(to_device(x));
  EXPECT_EQ(original, content_hash(to_device(x)));
  std::set<std::uint64_t> hashes{original};
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (int bit = 0; bit < 32; ++bit) {
      std::vector<float> changed = x;
      changed[i] = float_of(bits_of(x[i]) ^ (1u << bit));
      hashes.insert(content_hash(to_device(changed)));
    }
  }
  EXPECT_EQ(hashes.size(), 1 + 32 * x.size());  // all different, from the original and from each other
}

TEST(ContentHash, SeesSwapsZerosAndLength) {
  std::vector<float> x = normal_values(20000, 1.0f, 82);
  const std::uint64_t original = content_hash(to_device(x));
  for (const auto& [i, j] :
       {std::pair<std::size_t, std::size_t>{0, 1}, {5, 19999}, {4095, 4096}, {100, 228}}) {
    std::swap(x[i], x[j]);
    EXPECT_NE(content_hash(to_device(x)), original) << i << " and " << j;
    std::swap(x[i], x[j]);
  }
  EXPECT_EQ(content_hash(to_device(x)), original);
  std::set<std::uint64_t> zeros;
  for (std::size_t length = 0; length < 100; ++length) {
    zeros.insert(content_hash(to_device(std::vector<std::uint8_t>(length, 0))));
  }
  EXPECT_EQ(zeros.size(), 100u);
  EXPECT_NE(content_hash(to_device(std::vector<float>{0.0f})),
            content_hash(to_device(std::vector<float>{-0.0f})));
}

TEST(ContentHash, BytesAndFloatsAgreeAndBytesSeeEveryBit) {
  const std::vector<float> x = normal_values(5000, 1.0f, 83);
  std::vector<std::uint8_t> bytes(4 * x.size());
  std::memcpy(bytes.data(), x.data(), bytes.size());
  EXPECT_EQ(content_hash(to_device(bytes)), content_hash(to_device(x)));
  for (const std::size_t length : {1, 2, 3, 4, 5, 7, 4095, 4097}) {
    const std::vector<std::uint8_t> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    const std::uint64_t original = content_hash(to_device(part));
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::uint8_t> changed = part;
      changed[length - 1] = static_cast<std::uint8_t>(changed[length - 1] ^ (1u << bit));
      EXPECT_NE(content_hash(to_device(changed)), original);
    }
  }
}

TEST(ContentHash, DoesNotDependOnAlignment) {
  const std::vector<float> x = normal_values(9000, 1.0f, 84);
  std::vector<float> shifted(1, 0.0f);
  shifted.insert(shifted.end(), x.begin(), x.end());
  const Vector<float> device = to_device(shifted);
  const Vector<const float> part =
      Kokkos::subview(device, std::pair<std::size_t, std::size_t>{1, shifted.size()});
  EXPECT_EQ(content_hash(part), content_hash(to_device(x)));
}

TEST(ContentHash, HostHashAgreesInAnyParts) {
  const std::vector<float> x = normal_values(10007, 1.0f, 85);
  std::vector<std::uint8_t> bytes(4 * x.size());
  std::memcpy(bytes.data(), x.data(), bytes.size());
  for (const std::int64_t length : {0, 1, 3, 4, 5, 1023, 1024, 40027, 40028}) {
    const std::vector<std::uint8_t> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    const std::uint64_t expected = content_hash(to_device(part));
    EXPECT_EQ(host_content_hash(part.data(), length), expected) << length;
    for (const std::int64_t step : {4, 1000}) {
      HostHash hash;
      for (std::int64_t at = 0; at < length; at += step)
        hash.add(part.data() + at, std::min(step, length - at));
      EXPECT_EQ(hash.value(), expected) << length << " in parts of " << step;
    }
  }
  HostHash odd;
  odd.add(bytes.data(), 5);
  EXPECT_THROW(odd.add(bytes.data(), 4), RuntimeError);
}

TEST(CountNonFinite, CountsInfinitiesAndNaNs) {
  for (const std::int64_t count : {0, 1, 4096, 70001}) {
    std::vector<float> x = normal_values(count, 1.0f, 85);
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < x.size(); i += 97, ++expected) {
      const float infinity = std::numeric_limits<float>::infinity();
      x[i] = i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : i % 3 == 0 ? infinity : -infinity;
    }
    EXPECT_EQ(count_non_finite(to_device(x)), expected);
  }
}

}  // namespace
