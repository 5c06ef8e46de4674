// NCCL itself, on GPUs: one rank per GPU, one is enough. Built where Kokkos has its CUDA backend and NCCL is
// on.
#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "miniapp/transport/communicator.hpp"
#include "tests/transport/transport_fixture.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace minigift;
using namespace minigift::test;

CommunicatorOptions over_nccl() {
  CommunicatorOptions options;
  options.staging = Staging::nccl;
  return options;
}

// Functions of their own: nvcc takes no kernel from a test's body, which is private.
void fill_with_one(const Vector<float>& values) {
  Kokkos::parallel_for(
      "fill", range(size(values)), KOKKOS_LAMBDA(const std::int64_t i) { values(i) = 1.0F; });
}
void twice(const Vector<float>& values, const Vector<float>& doubled) {
  Kokkos::parallel_for(
      "twice", range(size(values)), KOKKOS_LAMBDA(const std::int64_t i) { doubled(i) = 2.0F * values(i); });
}

TEST(Nccl, PassesTheSelfTestAndSaysSo) {
  const Communicator communicator(over_nccl());
  EXPECT_EQ(communicator.staging(), Staging::nccl);
  EXPECT_NE(communicator.description().find("NCCL"), std::string::npos);
  EXPECT_NE(communicator.device_library().find("NCCL_ALGO"), std::string::npos);
}

TEST(Nccl, CopiesNothingBetweenDeviceAndHost) {
  Communicator communicator(over_nccl());
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const Vector<std::uint8_t> codes("codes", 4096 * ranks);
  const Vector<std::uint8_t> one("one", 4096);
  const Vector<std::uint8_t> other("other", 4096 * ranks);
  const Vector<float> values("values", 1000);
  Request native = communicator.native_all_reduce(Format::bf16, codes);
  Request maximum = communicator.all_reduce_max(values);
  native.wait();
  communicator.all_to_all(codes, other, 4096).wait();
  communicator.all_gather(one, codes, 4096).wait();
  maximum.wait();
  communicator.all_reduce_sum(values).wait();
  communicator.synchronize();
  const TransportCounters& counters = communicator.counters();
  EXPECT_EQ(counters.device_to_host_bytes, 0);
  EXPECT_EQ(counters.host_to_device_bytes, 0);
  EXPECT_EQ(counters.payload.collectives, 3);
}

TEST(Nccl, StreamsThatWaitSeeTheResult) {
  Communicator communicator(over_nccl());
  const Stream exchange = Stream::create(true);
  const std::int64_t count = std::int64_t{1} << 22;
  const Vector<float> values("values", static_cast<std::size_t>(count));
  const Vector<float> doubled("doubled", static_cast<std::size_t>(count));
  Event ready;
  fill_with_one(values);
  ready.record();
  Request request;
  {
    const ScopedStream scope(exchange);
    ready.wait();
    request = communicator.all_reduce_sum(values);
  }
  request.wait();  // the default stream waits, the host does not
  twice(values, doubled);
  communicator.synchronize();
  const auto result = to_host(doubled);
  for (const float value : result)
    ASSERT_EQ(value, 2.0F * static_cast<float>(communicator.size()));
}

TEST(Nccl, MaximumKeepsNotANumberAsInfinity) {
  Communicator communicator(over_nccl());
  const auto values = to_vector(std::vector<float>{1.0F, std::numeric_limits<float>::quiet_NaN()});
  communicator.all_reduce_max(values).wait();
  communicator.synchronize();
  EXPECT_EQ(to_host(values)[1], std::numeric_limits<float>::infinity());
}

}  // namespace
