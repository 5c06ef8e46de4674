// Regions: nesting, inclusive and exclusive time, phases, reset, and the clash with a loaded tool.

#include "miniapp/report/region_timer.hpp"

#include "kernels/error.hpp"

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

namespace minigift {
namespace {

// Sleeping takes at least as long as asked; a loaded machine may take longer, so upper bounds are compared
// with the whole time instead of with constants.
void rest(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

const RegionTime& at(const std::vector<RegionTime>& times, const std::string& path) {
  for (const RegionTime& time : times) {
    if (time.path == path) return time;
  }
  static const RegionTime none;
  ADD_FAILURE() << "no region " << path;
  return none;
}

TEST(RegionTimer, NestedRegionsAreToldApart) {
  RegionTimer timer;
  {
    const ScopedRegion backward("backward");
    rest(20);
    for (int i = 0; i < 2; ++i) {
      const ScopedRegion wire("wire");
      rest(15);
    }
  }
  {
    const ScopedRegion wire("wire");
    rest(25);
  }
  const std::vector<RegionTime> times = timer.times();
  ASSERT_EQ(times.size(), 3u);
  const RegionTime& backward = at(times, "backward");
  const RegionTime& inner = at(times, "backward/wire");
  const RegionTime& outer = at(times, "wire");
  EXPECT_EQ(backward.count, 1);
  EXPECT_EQ(inner.count, 2);
  EXPECT_EQ(outer.count, 1);
  EXPECT_GE(backward.inclusive_seconds, 0.050);
  EXPECT_GE(backward.exclusive_seconds, 0.020);
  EXPECT_GE(inner.inclusive_seconds, 0.030);
  EXPECT_GE(outer.inclusive_seconds, 0.025);
  EXPECT_NEAR(backward.exclusive_seconds + inner.inclusive_seconds, backward.inclusive_seconds, 1e-9);
  EXPECT_NEAR(timer.inclusive_seconds("wire"), inner.inclusive_seconds + outer.inclusive_seconds, 1e-9);
  EXPECT_NEAR(timer.exclusive_seconds("backward"), backward.exclusive_seconds, 1e-9);
  EXPECT_LE(backward.inclusive_seconds + outer.inclusive_seconds, timer.elapsed_seconds());
}

TEST(RegionTimer, ARegionInsideItsOwnNameCountsOnce) {
  RegionTimer timer;
  {
    const ScopedRegion outer("wire");
    const ScopedRegion inner("wire");
    rest(10);
  }
  EXPECT_EQ(timer.times().size(), 2u);
  EXPECT_NEAR(timer.inclusive_seconds("wire"), at(timer.times(), "wire").inclusive_seconds, 1e-9);
}

TEST(RegionTimer, PhasesAddUpToTheTimeSinceTheReset) {
  RegionTimer timer;
  rest(5);
  {
    const ScopedRegion step("step");  // no phase: its own time is "other"
    rest(10);
    const ScopedRegion backward("backward");
    rest(10);
    {
      const ScopedRegion layer("layer 3");  // no phase: counts for backward
      rest(10);
      const ScopedRegion wire("wire");
      rest(10);
    }
  }
  const double before = timer.elapsed_seconds();
  const PhaseSeconds phases = timer.phase_seconds();
  const double after = timer.elapsed_seconds();
  const double sum = std::accumulate(phases.begin(), phases.end(), 0.0);
  EXPECT_GE(sum, before - 1e-9);
  EXPECT_LE(sum, after + 1e-9);
  EXPECT_GE(phases[1], 0.020) << "backward with its layers, without the wire inside";
  EXPECT_GE(phases[5], 0.010) << "wire";
  EXPECT_GE(phases[8], 0.015) << "other";
  EXPECT_EQ(phases[0], 0.0);
}

TEST(RegionTimer, WhatIsInsideAnUntimedRegionCountsForNoPhase) {
  RegionTimer timer;
  {
    const ScopedRegion optimizer("optimizer");
    rest(10);
    const ScopedRegion check{std::string(untimed_region)};
    rest(40);
    const ScopedRegion wire("wire");
    rest(40);
  }
  const PhaseSeconds phases = timer.phase_seconds();
  EXPECT_EQ(phases[5], 0.0) << "wire";
  EXPECT_GE(phases[7], 0.010) << "optimizer";
  EXPECT_LE(std::accumulate(phases.begin(), phases.end(), 0.0), timer.elapsed_seconds() - 0.080);
}

TEST(RegionTimer, ResetStartsOpenRegionsAnew) {
  RegionTimer timer;
  const ScopedRegion outer("forward");
  rest(30);
  timer.reset();
  rest(5);
  const double forward = timer.inclusive_seconds("forward");
  EXPECT_LE(forward, timer.elapsed_seconds()) << "nothing from before the reset";
  EXPECT_GE(timer.inclusive_seconds("forward"), 0.005) << "an open region counts up to now";
  EXPECT_EQ(timer.times()[0].count, 0);
}

TEST(RegionTimer, KernelsAreFinishedInsideTheirRegion) {
  const Kokkos::View<double*> x("x", 1 << 20);
  RegionTimer timer;
  timer.reset();  // what follows is the region and hardly anything else
  {
    const ScopedRegion region("optimizer");
    for (int i = 0; i < 60; ++i) {
      Kokkos::parallel_for(
          "minigift::test_fill", Kokkos::RangePolicy<>(0, 1 << 20),
          KOKKOS_LAMBDA(int j) { x(static_cast<std::size_t>(j)) += 1.0 / (1.0 + j); });
    }
  }
  const double inside = timer.inclusive_seconds("optimizer");
  Kokkos::fence();  // had the region not waited for its kernels, they would be outside
  EXPECT_GT(inside, 0.5 * timer.elapsed_seconds());
}

TEST(RegionTimer, RegionsOpenedBeforeTheTimerDoNotUpsetIt) {
  Kokkos::Profiling::pushRegion("before");
  RegionTimer timer;
  Kokkos::Profiling::popRegion();
  { const ScopedRegion region("wire"); }
  EXPECT_EQ(timer.times().size(), 1u);
}

TEST(RegionTimer, OnlyOneAndNotBesideATool) {
  {
    RegionTimer timer;
    EXPECT_THROW(RegionTimer(), RuntimeError);
  }
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(
      [](const char*, std::uint32_t, std::uint64_t*) {});
  EXPECT_THROW(RegionTimer(), UsageError) << "as if a Kokkos Tool were loaded";
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
  RegionTimer timer;
  { const ScopedRegion region("wire"); }
  EXPECT_EQ(timer.times().size(), 1u) << "a failed attempt leaves nothing behind";
}

}  // namespace
}  // namespace minigift
