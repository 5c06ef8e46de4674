// The GPU's clocks and power cap, through a management library made for the test.

#include "miniapp/report/gpu_state.hpp"

#include <gtest/gtest.h>

namespace minigift {
namespace {

TEST(GpuState, WhatTheDriverTellsIsKeptAndTheRestIsNull) {
  const auto state = gpu_state("0000:01:00.0", MINIGIFT_FAKE_NVML);
  ASSERT_TRUE(state.is_object());
  EXPECT_EQ(state["driver"], "580.1");
  EXPECT_EQ(state["sm_clock_mhz"], 345);
  EXPECT_EQ(state["memory_clock_mhz"], 2619);
  EXPECT_TRUE(state["sm_clock_max_mhz"].is_null()) << "the call failed";
  EXPECT_DOUBLE_EQ(state["power_limit_watts"].get<double>(), 650.5);
}

TEST(GpuState, WithoutTheGpuOrTheDriverThereIsNothing) {
  EXPECT_TRUE(gpu_state("0000:02:00.0", MINIGIFT_FAKE_NVML).is_null());
  EXPECT_TRUE(gpu_state("0000:01:00.0", "libno-such-driver.so.1").is_null());
}

}  // namespace
}  // namespace minigift
