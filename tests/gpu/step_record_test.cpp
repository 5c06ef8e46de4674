// The comparison of two steps: equal ones pass, a single wrong element fails, damaged files are named.

#include "tests/gpu/step_record.hpp"

#include "kernels/error.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

namespace minigift {
namespace {

StepRecord example() {
  StepRecord step;
  step.model = "tiny";
  step.compute = "fp32";
  step.method = "fp32";
  step.backend = "test";
  step.loss = 2.5;
  step.tensors = {{"a", 0, 100}, {"b", 100, 28}};
  for (int i = 0; i < 128; ++i) {
    step.gradients.push_back(0.01f * static_cast<float>(i % 7 - 3));
    step.updates.push_back(1e-4f * static_cast<float>(i % 5 - 2));
  }
  return step;
}

class StepRecordTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "minigift_step_record";
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(StepRecordTest, WhatWasWrittenIsReadAndEqual) {
  const StepRecord step = example();
  write_step(folder_.string(), step);
  const StepRecord read = read_step(folder_.string());
  EXPECT_EQ(read.gradients, step.gradients);
  EXPECT_EQ(read.updates, step.updates);
  EXPECT_TRUE(compare_steps(step, read, {0, 0, 0})) << "equal within bounds of zero";
  EXPECT_THROW(write_step(folder_.string(), step), RuntimeError) << "never overwritten";
}

TEST_F(StepRecordTest, OneWrongElementAnywhereFails) {
  const StepRecord good = example();
  const StepBounds bounds = step_bounds("fp32");
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{64}, std::size_t{127}}) {
    StepRecord bad = good;
    bad.gradients[wrong] += 0.005f;
    EXPECT_FALSE(compare_steps(bad, good, bounds)) << wrong;
    bad = good;
    bad.updates[wrong] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(compare_steps(bad, good, bounds)) << wrong;
  }
  StepRecord bad = good;
  bad.loss *= 1.001;
  EXPECT_FALSE(compare_steps(bad, good, bounds));
}

TEST_F(StepRecordTest, DamagedOrUnlikeRecordsAreNamed) {
  write_step(folder_.string(), example());
  std::filesystem::resize_file(folder_ / "gradients.f32", 12);
  EXPECT_THROW(read_step(folder_.string()), RuntimeError);
  EXPECT_THROW(read_step((folder_ / "none").string()), RuntimeError);
  StepRecord other = example();
  other.model = "another";
  EXPECT_THROW(compare_steps(example(), other, {1, 1, 1}), RuntimeError);
  EXPECT_THROW(step_bounds("fp64"), RuntimeError);
}

}  // namespace
}  // namespace minigift
