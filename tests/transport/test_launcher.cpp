// What the launcher says about the number of tasks.
#include "kernels/error.hpp"
#include "miniapp/transport/launcher.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

using namespace minigift;

constexpr const char* variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_NRANKS",
                                     "SLURM_STEP_NUM_TASKS"};

class Launcher : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable : variables)
      unsetenv(variable);
  }
  void TearDown() override { SetUp(); }
};

TEST_F(Launcher, NoLauncherNoTasks) {
  EXPECT_EQ(launched_tasks().tasks, 0);
  EXPECT_NO_THROW(check_world_size(1));
}

TEST_F(Launcher, EveryKnownVariableCounts) {
  for (const char* variable : variables) {
    SetUp();
    setenv(variable, "4", 1);
    EXPECT_EQ(launched_tasks().tasks, 4);
    EXPECT_EQ(launched_tasks().variable, variable);
    EXPECT_THROW(check_world_size(1), UsageError);
    EXPECT_NO_THROW(check_world_size(4));
  }
}

TEST_F(Launcher, InnermostLauncherCounts) {
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_EQ(launched_tasks().tasks, 1);
  EXPECT_NO_THROW(check_world_size(1));
}

TEST_F(Launcher, AllocationAloneIsNoLaunch) {
  setenv("SLURM_NTASKS", "8", 1);
  EXPECT_NO_THROW(check_world_size(1));
  unsetenv("SLURM_NTASKS");
}

TEST_F(Launcher, NonsenseIsAnError) {
  for (const char* value : {"", "0", "-2", "4x", "many"}) {
    setenv("PMI_SIZE", value, 1);
    EXPECT_THROW(launched_tasks(), UsageError) << value;
  }
}

}  // namespace
