// The learning rate at the corners of the schedule.
#include "miniapp/train/schedule.hpp"

#include <gtest/gtest.h>

namespace minigift {
namespace {

TrainDeck deck(ScheduleChoice schedule) {
  TrainDeck d;
  d.steps = 110;
  d.warmup_steps = 10;
  d.learning_rate = 1.0;
  d.minimum_learning_rate = 0.1;
  d.schedule = schedule;
  return d;
}

TEST(Schedule, WarmsUpLinearly) {
  EXPECT_DOUBLE_EQ(learning_rate(deck(ScheduleChoice::cosine), 1), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(deck(ScheduleChoice::cosine), 5), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(deck(ScheduleChoice::cosine), 10), 1.0);
}

TEST(Schedule, CosineEndsAtTheMinimum) {
  EXPECT_DOUBLE_EQ(learning_rate(deck(ScheduleChoice::cosine), 60), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(deck(ScheduleChoice::cosine), 110), 0.1);
}

TEST(Schedule, ConstantStays) {
  EXPECT_DOUBLE_EQ(learning_rate(deck(ScheduleChoice::constant), 11), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(deck(ScheduleChoice::constant), 110), 1.0);
}

TEST(Schedule, NoWarmUpStartsAtTheFullRate) {
  TrainDeck d = deck(ScheduleChoice::constant);
  d.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate(d, 1), 1.0);
}

}  // namespace
}  // namespace minigift
