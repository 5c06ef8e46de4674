// What surrounds NCCL, with MPI in its place: self test, results, requests, counters, errors, GPUs gathered.
#include "kernels/error.hpp"
#include "miniapp/transport/communicator.hpp"
#include "miniapp/transport/communicator_state.hpp"
#include "miniapp/transport/self_test.hpp"
#include "tests/transport/mpi_device_channel.hpp"
#include "tests/transport/transport_fixture.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>

namespace {

using namespace minigift;
using namespace minigift::test;

class DeviceChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The channel of this file computes on the host.
    if (!memory_is_on_host) GTEST_SKIP();
    auto state = std::make_unique<CommunicatorState>(CommunicatorOptions{});
    auto channel = std::make_unique<MpiDeviceChannel>(MPI_COMM_WORLD);
    channel_ = channel.get();
    state->replace_device(std::move(channel));
    communicator_ = std::make_unique<Communicator>(std::move(state));
  }

  Communicator& communicator() { return *communicator_; }
  std::int64_t ranks() { return communicator().size(); }

  MpiDeviceChannel* channel_ = nullptr;
  std::unique_ptr<Communicator> communicator_;
};

TEST_F(DeviceChannelTest, PassesTheSelfTest) {
  EXPECT_NO_THROW(self_test(communicator()));
  EXPECT_GT(channel_->calls, 0);
}

TEST_F(DeviceChannelTest, MaximumKeepsNotANumberAsInfinity) {
  const bool odd_one_out = communicator().rank() == static_cast<int>(ranks()) - 1;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto values = to_vector(std::vector<float>{1.0F, odd_one_out ? nan : 2.0F});
  communicator().all_reduce_max(values).wait();
  communicator().synchronize();
  EXPECT_EQ(to_host(values), (std::vector<float>{1.0F, std::numeric_limits<float>::infinity()}));
}

TEST_F(DeviceChannelTest, ChargesWhatTheMpiPathCounts) {
  Communicator over_mpi({.staging = Staging::host});
  const auto change = [](Communicator& of, auto&& work) {
    const TransportCounters before = of.counters();
    work(of);
    return of.counters() - before;
  };
  for (const std::int64_t bytes : {0, 4, 1000}) {
    const auto block = static_cast<std::size_t>(bytes);
    const Vector<std::uint8_t> one("one", block);
    const Vector<std::uint8_t> all("all", block * static_cast<std::size_t>(ranks()));
    const Vector<std::uint8_t> other("other", block * static_cast<std::size_t>(ranks()));
    const Vector<float> values("values", block / 4);
    const auto native = [&](Communicator& c) { c.native_all_reduce(Format::e4m3, all).wait(); };
    const auto scatter = [&](Communicator& c) { c.native_reduce_scatter(Format::e4m3, all).wait(); };
    const auto library = [&](Communicator& c) { c.library_all_reduce(Format::bf16, all).wait(); };
    const auto to_all = [&](Communicator& c) { c.all_to_all(all, other, bytes).wait(); };
    const auto gather = [&](Communicator& c) { c.all_gather(one, all, bytes, Traffic::metadata).wait(); };
    const auto maximum = [&](Communicator& c) { c.all_reduce_max(values).wait(); };
    // Once, so that signatures have been compared.
    for (Communicator* of : {&communicator(), &over_mpi}) {
      native(*of), scatter(*of), library(*of), to_all(*of), gather(*of), maximum(*of);
    }
    const auto compare = [&](const char* what, auto&& work) {
      const TransportCounters here = change(communicator(), work);
      const TransportCounters there = change(over_mpi, work);
      EXPECT_EQ(here.payload.bytes_sent, there.payload.bytes_sent) << what << " of " << bytes;
      EXPECT_EQ(here.metadata.bytes_sent, there.metadata.bytes_sent) << what << " of " << bytes;
      EXPECT_EQ(here.payload.collectives, there.payload.collectives) << what << " of " << bytes;
      EXPECT_EQ(here.control.bytes_sent, 0) << what << " of " << bytes;
      EXPECT_EQ(here.device_to_host_bytes + here.host_to_device_bytes, 0) << what << " of " << bytes;
    };
    compare("native_all_reduce", native);
    compare("native_reduce_scatter", scatter);
    compare("library_all_reduce", library);
    compare("all_to_all", to_all);
    compare("all_gather", gather);
    compare("all_reduce_max", maximum);
  }
}

TEST_F(DeviceChannelTest, RequestsMayBeWaitedForInAnyOrder) {
  const Vector<float> first("first", 3);
  const Vector<double> second("second", 5);
  Kokkos::deep_copy(first, 1.0F);
  Kokkos::deep_copy(second, 2.0);
  Request a = communicator().all_reduce_sum(first);
  Request b = communicator().all_reduce_sum(second);
  b.wait();
  EXPECT_TRUE(a.test());
  communicator().synchronize();
  EXPECT_EQ(to_host(first).front(), static_cast<float>(ranks()));
  EXPECT_EQ(to_host(second).back(), 2.0 * static_cast<double>(ranks()));
}

TEST_F(DeviceChannelTest, Fp8IsRefusedOnOldGpusOnAllRanks) {
  channel_->devices = {{"node1", {0, "An old GPU", "0000:01:00.0", 80, 0}}};
  const Vector<std::uint8_t> codes("codes", static_cast<std::size_t>(ranks()) * 4);
  EXPECT_NO_THROW(communicator().native_all_reduce(Format::bf16, codes).wait());
  EXPECT_FALSE(communicator().native_all_reduce_refuses(Format::fp32));
  try {
    communicator().native_all_reduce(Format::e5m2, codes).wait();
    FAIL() << "no error";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    for (const char* word : {"e5m2", "9.0", "An old GPU", "8.0", "node1"})
      EXPECT_NE(text.find(word), std::string::npos) << text;
  }
  EXPECT_NO_THROW(self_test(communicator()));  // leaves FP8 out
}

TEST_F(DeviceChannelTest, SynchronizeMeetsErrorsOfOtherRanks) {
  EXPECT_NO_THROW(communicator().synchronize());
  channel_->error = "another rank has gone";
  EXPECT_THROW(communicator().synchronize(), RuntimeError);
  channel_->error.clear();
}

TEST_F(DeviceChannelTest, NamesItsLibrary) {
  EXPECT_EQ(communicator().device_library(), "MPI in the place of NCCL");
  EXPECT_EQ(Communicator{}.device_library(), "");
}

TEST_F(DeviceChannelTest, GroupsHaveAChannelOfTheirOwn) {
  auto state = std::make_unique<CommunicatorState>(CommunicatorOptions{.self_test = false});
  auto half = std::make_unique<CommunicatorState>(*state, state->rank() % 2, 0, "half");
  auto whole_channel = std::make_unique<MpiDeviceChannel>(state->mpi());
  auto half_channel = std::make_unique<MpiDeviceChannel>(half->mpi());
  MpiDeviceChannel* const channel = half_channel.get();
  state->replace_device(std::move(whole_channel));
  half->replace_device(std::move(half_channel));
  Communicator whole(std::move(state));
  Communicator group(std::move(half));
  EXPECT_NO_THROW(self_test(group));
  EXPECT_GT(channel->calls, 0);

  const TransportCounters before = whole.counters();
  const auto size = static_cast<std::size_t>(group.size());
  const Vector<std::uint8_t> one("one", 1000), all("all", 1000 * size);
  group.all_gather(one, all, 1000).wait();
  EXPECT_EQ((whole.counters() - before).payload.bytes_sent, 1000 * (group.size() - 1));
  // Who waits in the whole meets the errors of groups, and the reverse.
  channel->error = "another rank has gone";
  EXPECT_THROW(whole.synchronize(), RuntimeError);
  EXPECT_THROW(group.synchronize(), RuntimeError);
  channel->error.clear();
}

TEST(Devices, AreGatheredInRankOrder) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const DeviceInfo mine{rank, "A GPU", "0000:0" + std::to_string(rank) + ":00.0", 90, std::int64_t{1} << 36};
  const auto all = gather_devices(MPI_COMM_WORLD, mine);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) {
    const auto& [host, device] = all[static_cast<std::size_t>(r)];
    EXPECT_FALSE(host.empty());
    EXPECT_EQ(device.index, r);
    EXPECT_EQ(device.name, "A GPU");
    EXPECT_EQ(device.pci_bus_id, "0000:0" + std::to_string(r) + ":00.0");
    EXPECT_EQ(device.compute_capability, 90);
    EXPECT_EQ(device.memory, std::int64_t{1} << 36);
  }
  EXPECT_TRUE(ranks_sharing_devices(all).empty());
}

TEST(Devices, ABuildForTheHostHasNone) {
  if (built_for_gpu()) GTEST_SKIP();
  EXPECT_EQ(choose_device(MPI_COMM_WORLD), -1);
  EXPECT_EQ(current_device().index, -1);
  Communicator communicator;
  for (const Placement& placement : communicator.placement())
    EXPECT_EQ(placement.device.index, -1);
  EXPECT_EQ(communicator.staging(), Staging::host);
  EXPECT_NE(communicator.description().find("host memory"), std::string::npos);
}

}  // namespace
