// Our conversions, run where Kokkos runs (on the device with its CUDA backend, else on the host), against
// CUDA's own, run on the device: bit for bit.

#include "kernels/device/memory.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/format/fp8.hpp"
#include "tests/cuda/device.hpp"
#include "tests/cuda/library_codes.hpp"
#include "tests/kernels/format_support.hpp"

#include <cmath>

namespace minigift {
namespace {

using test::LibraryCodes;

class CudaFormat : public test::OnDevice {};

LibraryCodes our_codes(const std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const Vector<float> input("input", values.size());
  const HostVector<float> host = host_like(input);
  for (std::int64_t i = 0; i < count; ++i)
    host(i) = values[static_cast<std::size_t>(i)];
  copy(input, host);
  const Vector<std::uint8_t> e4m3("e4m3", values.size()), e5m2("e5m2", values.size());
  const Vector<std::uint16_t> narrow("bfloat16", values.size());
  Kokkos::parallel_for(
      "minigift::test_encode", range(count), KOKKOS_LAMBDA(const std::int64_t i) {
        e4m3(i) = encode_e4m3(input(i));
        e5m2(i) = encode_e5m2(input(i));
        narrow(i) = to_bfloat16(input(i)).bits;
      });
  const auto as_vector = [](const auto& view) {
    const auto copied = on_host(view);
    return std::vector(copied.data(), copied.data() + copied.size());
  };
  return {as_vector(e4m3), as_vector(e5m2), as_vector(narrow)};
}

void expect_equal_codes(const std::vector<float>& values) {
  const LibraryCodes ours = our_codes(values), library = test::library_codes(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(ours.e4m3[i], library.e4m3[i]) << values[i] << " " << std::hex << test::bits_of(values[i]);
    ASSERT_EQ(ours.e5m2[i], library.e5m2[i]) << values[i] << " " << std::hex << test::bits_of(values[i]);
    ASSERT_EQ(ours.bfloat16[i], library.bfloat16[i])
        << values[i] << " " << std::hex << test::bits_of(values[i]);
  }
}

TEST_F(CudaFormat, CodesMidpointsAndNeighbours) {
  const test::LibraryValues library = test::library_values();
  std::vector<float> values;
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code), next = static_cast<std::uint8_t>(code + 1);
    for (const auto& [ours, after, theirs] :
         {std::array<float, 3>{decode_e4m3(byte), decode_e4m3(next), library.e4m3[byte]},
          {decode_e5m2(byte), decode_e5m2(next), library.e5m2[byte]}}) {
      if (std::isnan(theirs))
        ASSERT_TRUE(std::isnan(ours)) << code;
      else
        ASSERT_EQ(test::bits_of(ours), test::bits_of(theirs)) << code;
      const float midpoint = (ours + after) / 2;
      values.insert(values.end(), {ours, midpoint, test::next_up(midpoint), test::next_down(midpoint)});
    }
  }
  expect_equal_codes(values);
}

TEST_F(CudaFormat, RandomFloats) {
  const PhiloxKey key = philox_key(91, 0, 0, 0);
  std::vector<float> values(std::size_t{1} << 20);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = test::float_of(philox_bits(key, static_cast<std::int64_t>(i)));
  expect_equal_codes(values);
}

}  // namespace
}  // namespace minigift
