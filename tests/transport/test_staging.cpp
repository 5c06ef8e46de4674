// The choice of memory and library, the closed forms of traffic, the guard and the pool of mirrors: what
// needs no ranks.
#include "kernels/error.hpp"
#include "miniapp/transport/device_channel.hpp"
#include "miniapp/transport/device_memory_guard.hpp"
#include "miniapp/transport/mirror_pool.hpp"
#include "miniapp/transport/staging.hpp"
#include "miniapp/transport/traffic.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace {

using namespace minigift;

StagingFacts gpu_facts() {
  StagingFacts facts;
  facts.memory_is_on_host = false;
  return facts;
}

TEST(StagingChoice, HostMemoryLeavesNoChoice) {
  const StagingFacts host;
  EXPECT_EQ(choose_staging(Staging::automatic, host).staging, Staging::host);
  EXPECT_EQ(choose_staging(Staging::host, host).staging, Staging::host);
  EXPECT_THROW(choose_staging(Staging::direct, host), UsageError);
  EXPECT_THROW(choose_staging(Staging::nccl, host), UsageError);
  EXPECT_EQ(describe(choose_staging(Staging::automatic, host), host), "host memory");
}

TEST(StagingChoice, AutomaticPrefersNcclThenDirectThenHost) {
  StagingFacts facts = gpu_facts();
  EXPECT_EQ(choose_staging(Staging::automatic, facts).staging, Staging::host);
  facts.mpi_takes_device_memory = false;
  EXPECT_EQ(choose_staging(Staging::automatic, facts).staging, Staging::host);
  facts.mpi_takes_device_memory = true;
  EXPECT_EQ(choose_staging(Staging::automatic, facts).staging, Staging::direct);
  facts.nccl = "2.28.9";
  EXPECT_EQ(choose_staging(Staging::automatic, facts).staging, Staging::nccl);
  facts.shared_gpus = true;
  EXPECT_EQ(choose_staging(Staging::automatic, facts).staging, Staging::host);
}

TEST(StagingChoice, WhatIsAskedForIsTakenOrRefused) {
  StagingFacts facts = gpu_facts();
  EXPECT_EQ(choose_staging(Staging::host, facts).staging, Staging::host);
  EXPECT_EQ(choose_staging(Staging::direct, facts).staging, Staging::direct);  // not said: the user's risk
  facts.mpi_takes_device_memory = false;
  EXPECT_EQ(choose_staging(Staging::direct, facts).staging, Staging::direct);
  EXPECT_NE(choose_staging(Staging::direct, facts).reason.find("although"), std::string::npos);
  EXPECT_THROW(choose_staging(Staging::nccl, facts), UsageError);
  facts.nccl = "2.28.9";
  EXPECT_EQ(choose_staging(Staging::nccl, facts).staging, Staging::nccl);
  facts.shared_gpus = true;
  EXPECT_THROW(choose_staging(Staging::nccl, facts), UsageError);
}

TEST(StagingChoice, IsDescribedWithItsReason) {
  StagingFacts facts = gpu_facts();
  facts.nccl = "2.28.9";
  const std::string text = describe(choose_staging(Staging::automatic, facts), facts);
  EXPECT_NE(text.find("NCCL 2.28.9"), std::string::npos) << text;
  EXPECT_NE(text.find("automatic"), std::string::npos) << text;
  facts.shared_gpus = true;
  const std::string shared = describe(choose_staging(Staging::automatic, facts), facts);
  EXPECT_NE(shared.find("share"), std::string::npos) << shared;
}

TEST(StagingChoice, NamesAreReadBack) {
  for (const Staging staging : {Staging::automatic, Staging::host, Staging::direct, Staging::nccl})
    EXPECT_EQ(staging_from_name(name(staging)), staging);
  EXPECT_THROW(staging_from_name("gdr"), UsageError);
}

TEST(WireBytes, ClosedForms) {
  EXPECT_EQ(all_reduce_wire_bytes(1, 1000), 0);
  EXPECT_EQ(all_reduce_wire_bytes(4, 1000), 1500);
  EXPECT_EQ(all_reduce_wire_bytes(3, 100), 133);
  EXPECT_EQ(block_exchange_wire_bytes(5, 7), 28);
  EXPECT_EQ(broadcast_wire_bytes(4, 1000), 750);
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(all_reduce_wire_bytes(1024, large), 2 * 1023 * (large / 1024));
}

TEST(DeviceMemoryGuard, RefusesTheOtherLibraryWhileOneIsInFlight) {
  DeviceMemoryGuard guard;
  {
    const DeviceMemoryUse first = guard.begin(DeviceMemoryUser::mpi, "all_gather");
    const DeviceMemoryUse second = guard.begin(DeviceMemoryUser::mpi, "all_gather");
    EXPECT_EQ(guard.in_flight(DeviceMemoryUser::mpi), 2);
    EXPECT_THROW(guard.begin(DeviceMemoryUser::nccl, "all_gather"), RuntimeError);
    EXPECT_EQ(guard.in_flight(DeviceMemoryUser::nccl), 0);
  }
  EXPECT_EQ(guard.in_flight(DeviceMemoryUser::mpi), 0);
  DeviceMemoryUse nccl = guard.begin(DeviceMemoryUser::nccl, "all_to_all");
  EXPECT_THROW(guard.begin(DeviceMemoryUser::mpi, "all_to_all"), RuntimeError);
  nccl = DeviceMemoryUse();
  EXPECT_NO_THROW(guard.begin(DeviceMemoryUser::mpi, "all_to_all"));
}

TEST(DeviceMemoryGuard, CountsAMovedUseOnce) {
  DeviceMemoryGuard guard;
  DeviceMemoryUse first = guard.begin(DeviceMemoryUser::nccl, "a");
  DeviceMemoryUse second = std::move(first);
  EXPECT_EQ(guard.in_flight(DeviceMemoryUser::nccl), 1);
  second = guard.begin(DeviceMemoryUser::nccl, "b");
  EXPECT_EQ(guard.in_flight(DeviceMemoryUser::nccl), 1);
}

TEST(MirrorPool, GivesTheSameMemoryAgain) {
  MirrorPool pool;
  const std::uint8_t* first = nullptr;
  {
    const Mirror mirror = pool.take(1000);
    const Mirror copy = mirror;
    first = mirror.get();
    EXPECT_EQ(pool.free_bytes(), 0);
  }
  EXPECT_EQ(pool.free_bytes(), 1000);
  const Mirror again = pool.take(900);
  EXPECT_EQ(again.get(), first);
  const Mirror another = pool.take(900);
  EXPECT_NE(another.get(), first);
}

TEST(MirrorPool, MemoryMayOutliveThePool) {
  Mirror mirror;
  {
    MirrorPool pool;
    mirror = pool.take(10);
  }
  mirror.get()[9] = 1;
}

TEST(Nccl, RefusesFp8BelowVersionAndCapability) {
  const std::vector<RankDevice> mixed = {{"n1", {0, "New", "0000:01:00.0", 90, 0}},
                                         {"n2", {0, "Old", "0000:01:00.0", 89, 0}}};
  const std::vector<RankDevice> recent = {mixed[0], {"n2", {0, "Newer", "0000:01:00.0", 100, 0}}};
  for (const Format format : {Format::e4m3, Format::e5m2}) {
    EXPECT_FALSE(nccl_refuses(format, 22809, recent));
    EXPECT_TRUE(nccl_refuses(format, 22304, recent));
    const auto why = nccl_refuses(format, 22809, mixed);
    ASSERT_TRUE(why);
    EXPECT_NE(why->find("rank 1 has Old (8.9) on n2"), std::string::npos) << *why;
  }
  EXPECT_FALSE(nccl_refuses(Format::bf16, 22304, mixed));
  EXPECT_FALSE(nccl_refuses(Format::fp32, 22304, mixed));
}

TEST(Nccl, ElementsOfFormats) {
  EXPECT_EQ(element_of(Format::bf16), Element::bfloat16);
  EXPECT_EQ(element_of(Format::e4m3), Element::e4m3);
  EXPECT_THROW(element_of(Format::int8), RuntimeError);
}

}  // namespace
