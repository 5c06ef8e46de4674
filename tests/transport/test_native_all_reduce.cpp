// The ring and its first half against their serial forms, bit for bit.
#include "kernels/error.hpp"
#include "kernels/reference/native_all_reduce.hpp"
#include "miniapp/transport/communicator.hpp"
#include "tests/transport/transport_fixture.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace minigift;
using namespace minigift::test;

constexpr Format all_formats[] = {Format::fp32, Format::bf16, Format::e4m3, Format::e5m2};
constexpr std::int64_t chunk_lengths[] = {0, 1, 3, 64, 1021, 40009};

std::vector<std::vector<std::uint8_t>> all_inputs(Format format, int ranks, std::int64_t seed,
                                                  std::int64_t codes) {
  std::vector<std::vector<std::uint8_t>> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(random_codes(format, rank, seed, codes));
  return inputs;
}

std::vector<std::uint8_t> expected_sum(Format format, int ranks, std::int64_t seed, std::int64_t codes) {
  return reference::native_all_reduce(format, all_inputs(format, ranks, seed, codes));
}

/// The rank's own part.
std::vector<std::uint8_t> own_part(const std::vector<std::uint8_t>& all, int rank, int ranks) {
  const auto bytes = static_cast<std::ptrdiff_t>(all.size()) / ranks;
  return {all.begin() + rank * bytes, all.begin() + (rank + 1) * bytes};
}

/// MPI's ring, also where there is NCCL, whose order of addition is its own.
CommunicatorOptions ring_options() {
  CommunicatorOptions options;
  options.staging = Staging::host;
  return options;
}

void expect_reference(const CommunicatorOptions& options) {
  Communicator communicator(options);
  std::int64_t seed = 1;
  for (const Format format : all_formats) {
    for (const std::int64_t chunk : chunk_lengths) {
      const std::int64_t codes = chunk * communicator.size();
      const auto buffer = to_vector(random_codes(format, communicator.rank(), ++seed, codes));
      communicator.native_all_reduce(format, buffer).wait();
      EXPECT_EQ(to_host(buffer), expected_sum(format, communicator.size(), seed, codes))
          << name(format) << ", " << chunk << " codes per chunk";
      const auto scattered = to_vector(random_codes(format, communicator.rank(), seed, codes));
      communicator.native_reduce_scatter(format, scattered).wait();
      const auto sums =
          reference::native_reduce_scatter(format, all_inputs(format, communicator.size(), seed, codes));
      EXPECT_EQ(own_part(to_host(scattered), communicator.rank(), communicator.size()),
                own_part(sums, communicator.rank(), communicator.size()))
          << name(format) << ", " << chunk << " codes per part";
    }
  }
}

TEST(NativeAllReduce, EqualsSerialForm) {
  expect_reference(ring_options());
}

TEST(NativeAllReduce, DoesNotDependOnMessageLimit) {
  CommunicatorOptions options = ring_options();
  options.max_message_bytes = 1000;
  expect_reference(options);
}

TEST(NativeAllReduce, DoesNotDependOnPipelinePieces) {
  CommunicatorOptions options = ring_options();
  options.max_message_bytes = 9;  // not a multiple of any code size but 1
  options.pipeline_bytes = 8;
  options.self_test = false;
  Communicator communicator(options);
  for (const Format format : all_formats) {
    const std::int64_t codes = 35 * communicator.size();
    const auto buffer = to_vector(random_codes(format, communicator.rank(), 77, codes));
    communicator.native_all_reduce(format, buffer).wait();
    EXPECT_EQ(to_host(buffer), expected_sum(format, communicator.size(), 77, codes)) << name(format);
    const auto scattered = to_vector(random_codes(format, communicator.rank(), 78, codes));
    communicator.native_reduce_scatter(format, scattered).wait();
    const auto sums =
        reference::native_reduce_scatter(format, all_inputs(format, communicator.size(), 78, codes));
    EXPECT_EQ(own_part(to_host(scattered), communicator.rank(), communicator.size()),
              own_part(sums, communicator.rank(), communicator.size()))
        << name(format);
  }
}

TEST(NativeAllReduce, SaturatesInsteadOfOverflowing) {
  Communicator communicator;
  for (const Format format : {Format::e4m3, Format::e5m2}) {
    const auto maximum = static_cast<float>(max_finite(format));
    const std::uint8_t largest = format == Format::e4m3 ? encode_e4m3(maximum) : encode_e5m2(maximum);
    const std::int64_t codes = 7 * communicator.size();
    const auto buffer = to_vector(std::vector<std::uint8_t>(static_cast<std::size_t>(codes), largest));
    communicator.native_all_reduce(format, buffer).wait();
    for (const std::uint8_t code : to_host(buffer))
      EXPECT_EQ(code, largest) << name(format);
  }
}

// Rounding at every hop shows in sums of ones: e4m3 has integers up to 16, and 16 + 1 is a tie that goes back
// to 16.
TEST(NativeAllReduce, AddsInDocumentedOrder) {
  Communicator communicator;
  const int ranks = communicator.size();
  // Rank 0 contributes 16, the others 1, to every element. In chunk 0 each 1 is lost against 16. In chunk 1,
  // which starts at rank 1 and meets rank 0 last, the ones are added first.
  const float mine = communicator.rank() == 0 ? 16.0F : 1.0F;
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(ranks), encode_e4m3(mine));
  const auto buffer = to_vector(codes);
  communicator.native_all_reduce(Format::e4m3, buffer).wait();
  const auto sums = to_host(buffer);
  EXPECT_EQ(decode_e4m3(sums[0]), 16.0F);
  // 1 + 16 and 3 + 16 are ties to even: 16 and 20. By number of ranks:
  constexpr float expected[] = {0.0F, 0.0F, 16.0F, 18.0F, 20.0F, 20.0F};
  if (ranks >= 2 && ranks <= 5) {
    EXPECT_EQ(decode_e4m3(sums[1]), expected[ranks]);
  }
}

// The same example for the reduce-scatter, where the owner of a part is added last: rank 0's 16 is the last
// of part 0, and the first of the part of rank N-1.
TEST(NativeReduceScatter, AddsInDocumentedOrder) {
  Communicator communicator(ring_options());
  const int ranks = communicator.size();
  const float mine = communicator.rank() == 0 ? 16.0F : 1.0F;
  const auto buffer =
      to_vector(std::vector<std::uint8_t>(static_cast<std::size_t>(ranks), encode_e4m3(mine)));
  communicator.native_reduce_scatter(Format::e4m3, buffer).wait();
  const float own = decode_e4m3(to_host(buffer)[static_cast<std::size_t>(communicator.rank())]);
  // By number of ranks: 16, 1 + 16, 2 + 16, 3 + 16, 4 + 16, where 17 and 19 are ties to even.
  constexpr float last[] = {0.0F, 16.0F, 16.0F, 18.0F, 20.0F, 20.0F};
  if (communicator.rank() == 0 && ranks <= 5) {
    EXPECT_EQ(own, last[ranks]);
  }
  if (communicator.rank() == ranks - 1 && ranks > 1) {
    EXPECT_EQ(own, 16.0F);
  }
}

TEST(NativeAllReduce, RefusesWhatCannotBeAdded) {
  Communicator communicator;
  const Vector<std::uint8_t> codes("codes", 4 * static_cast<std::size_t>(communicator.size()));
  EXPECT_THROW(communicator.native_all_reduce(Format::int8, codes), RuntimeError);
  EXPECT_THROW(communicator.native_reduce_scatter(Format::int8, codes), RuntimeError);
  EXPECT_THROW(communicator.library_all_reduce(Format::int8, codes), RuntimeError);
  const Vector<std::uint8_t> uneven("uneven", 4 * static_cast<std::size_t>(communicator.size()) + 2);
  EXPECT_THROW(communicator.native_all_reduce(Format::fp32, uneven), RuntimeError);
  EXPECT_THROW(communicator.native_reduce_scatter(Format::fp32, uneven), RuntimeError);
  EXPECT_THROW(communicator.library_all_reduce(Format::fp32, uneven), RuntimeError);
}

}  // namespace
