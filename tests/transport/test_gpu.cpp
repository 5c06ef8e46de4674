// Which GPU a rank gets and which ranks share one, on made-up machines.
#include "kernels/error.hpp"
#include "miniapp/transport/gpu.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

using namespace minigift;

RankDevice at(const char* host, int index, const char* bus) {
  return {host, {index, "A GPU", bus, 90, 0}};
}

TEST(GpuMapping, RanksOfANodeTakeGpusInTurn) {
  EXPECT_EQ(mapped_device(0, 4), 0);
  EXPECT_EQ(mapped_device(3, 4), 3);
  EXPECT_EQ(mapped_device(5, 4), 1);
  EXPECT_EQ(mapped_device(7, 1), 0);  // the launcher shows each rank one
}

TEST(GpuMapping, NoGpuIsAnError) {
  EXPECT_THROW(mapped_device(0, 0), RuntimeError);
}

TEST(GpuSharing, SameBusOnOneMachine) {
  const std::vector<RankDevice> devices = {at("n1", 0, "0000:01:00.0"), at("n1", 1, "0000:02:00.0"),
                                           at("n2", 0, "0000:01:00.0"), at("n1", 0, "0000:02:00.0"),
                                           at("n2", 1, "0000:01:00.0")};
  const std::vector<std::vector<int>> expected = {{1, 3}, {2, 4}};
  EXPECT_EQ(ranks_sharing_devices(devices), expected);
  EXPECT_NO_THROW(check_sharing(devices, true));
  try {
    check_sharing(devices, false);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("ranks 1,3 use A GPU at 0000:02:00.0 of n1"), std::string::npos) << text;
    EXPECT_NE(text.find("ranks 2,4 use A GPU at 0000:01:00.0 of n2"), std::string::npos) << text;
    EXPECT_NE(text.find("--share-gpu"), std::string::npos) << text;
  }
}

TEST(GpuSharing, NoneOnHostsOrOneEach) {
  EXPECT_TRUE(ranks_sharing_devices({}).empty());
  EXPECT_TRUE(ranks_sharing_devices({{"n1", {}}, {"n1", {}}}).empty());
  EXPECT_NO_THROW(check_sharing({at("n1", 0, "0000:01:00.0"), at("n1", 0, "0000:02:00.0")}, false));
}

TEST(GpuSharing, EnvironmentMayAllowIt) {
  unsetenv("MINIGIFT_SHARE_GPU");
  EXPECT_FALSE(sharing_allowed_by_environment());
  setenv("MINIGIFT_SHARE_GPU", "1", 1);
  EXPECT_TRUE(sharing_allowed_by_environment());
  setenv("MINIGIFT_SHARE_GPU", "0", 1);
  EXPECT_FALSE(sharing_allowed_by_environment());
  setenv("MINIGIFT_SHARE_GPU", "yes", 1);
  EXPECT_THROW(sharing_allowed_by_environment(), UsageError);
  unsetenv("MINIGIFT_SHARE_GPU");
}

}  // namespace
