// The output folder is never overwritten; steps.csv is complete after every row; summaries are what they say.

#include "kernels/error.hpp"
#include "miniapp/report/memory.hpp"
#include "miniapp/report/method_summary.hpp"
#include "miniapp/report/results_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace minigift {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string usage_error(const std::string& directory) {
  try {
    create_results_folder(directory);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

class ResultsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / (std::string("minigift_results_") +
                                              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(ResultsTest, FolderIsMadeWithItsParentsAndMayHoldOtherFiles) {
  const fs::path deep = folder_ / "a" / "b";
  EXPECT_EQ(usage_error(deep.string()), "");
  EXPECT_TRUE(fs::is_directory(deep));
  EXPECT_TRUE(fs::is_empty(deep)) << "no probe is left behind";
  std::ofstream(deep / "notes.txt") << "x";
  EXPECT_EQ(usage_error(deep.string()), "");
}

TEST_F(ResultsTest, ExistingResultsAreNamedAndKept) {
  for (const std::string name : {"run.json", "steps.csv"}) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / name) << "old";
    const std::string message = usage_error(folder_.string());
    EXPECT_NE(message.find(folder_.string()), std::string::npos) << message;
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find("--out"), std::string::npos) << message;
    EXPECT_EQ(content(folder_ / name), "old");
    fs::remove(folder_ / name);
  }
  EXPECT_THROW(
      {
        const StepsFile first(folder_.string());
        const StepsFile second(folder_.string());
      },
      UsageError);
  write_new_file((folder_ / "x").string(), "one");
  EXPECT_THROW(write_new_file((folder_ / "x").string(), "two"), UsageError);
  EXPECT_EQ(content(folder_ / "x"), "one");
}

TEST_F(ResultsTest, FolderThatCannotBe) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "file") << "x";
  EXPECT_NE(usage_error((folder_ / "file").string()).find("a file of that name"), std::string::npos);
  EXPECT_NE(usage_error((folder_ / "file" / "below").string()).find("cannot create"), std::string::npos);
  // Nobody, not even root, makes files there.
  EXPECT_NE(usage_error("/proc/self/task").find("cannot write there"), std::string::npos);
}

TEST_F(ResultsTest, StepsAreCompleteAfterEveryRow) {
  fs::create_directories(folder_);
  StepsFile file(folder_.string());
  EXPECT_EQ(content(folder_ / "steps.csv"), StepsFile::header());
  StepRow row;
  row.method = "gift, \"mine\"";
  row.step = 1;
  row.train_loss = 0.1;
  row.skipped = true;
  file.add(row);
  const std::string expected = StepsFile::header() + StepsFile::line(row);
  EXPECT_EQ(content(folder_ / "steps.csv"), expected) << "while the file is still open";
  EXPECT_TRUE(StepsFile::line(row).starts_with("\"gift, \"\"mine\"\"\",1,0.1,,,"));  // unmeasured: empty
  EXPECT_TRUE(StepsFile::line(row).ends_with(",true\n"));

  row.method = "gift";
  const std::string line = StepsFile::line(row);
  EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::ranges::count(StepsFile::header(), ','));
  for (const char* name : {"method,step,train_loss,validation_loss", "forward_seconds", "wire_seconds",
                           "wire_bytes", "relative_l2_error"}) {
    EXPECT_NE(StepsFile::header().find(name), std::string::npos) << name;
  }
}

TEST_F(ResultsTest, FullDeviceIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  fs::create_directories(folder_);
  fs::create_symlink("/dev/full", folder_ / "steps.csv");
  // The name exists, so it is refused; a device is never opened by mistake.
  EXPECT_THROW(StepsFile(folder_.string()), UsageError);
}

TEST(Summary, MediansSkipTheWarmUpAndLossesDoNot) {
  std::vector<StepRow> rows(6);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    StepRow& row = rows[i];
    row.method = "gift";
    row.step = static_cast<std::int64_t>(i + 1);
    row.step_seconds = i == 0 ? 100.0 : static_cast<double>(i);  // 100 | 1 2 3 4 5
    row.tokens_per_second = 600.0 / row.step_seconds;
    row.phases[0] = row.step_seconds / 2;
    row.payload_bytes = 10;
    row.wire_bytes = 20;
    row.fallback_tensors = 1;
    row.selected_tensors = 7;
  }
  rows[0].validation_loss = 3.0;
  rows[3].validation_loss = 2.0;
  rows[3].relative_l2_error = 0.5;
  rows[5].relative_l2_error = 0.1;
  rows[4].skipped = true;
  const MethodSummary summary = summarize(rows, 1);
  EXPECT_EQ(summary.method, "gift");
  EXPECT_EQ(summary.steps, 6);
  EXPECT_EQ(summary.step_seconds_minimum, 1.0);
  EXPECT_EQ(summary.step_seconds_median, 3.0);
  EXPECT_DOUBLE_EQ(summary.step_seconds_p95, 4.8);
  EXPECT_EQ(summary.step_seconds_maximum, 5.0);
  EXPECT_DOUBLE_EQ(summary.tokens_per_second, 200.0);
  EXPECT_DOUBLE_EQ(summary.phases[0], 1.5);
  EXPECT_EQ(summary.payload_bytes, 10.0);
  EXPECT_EQ(summary.validation_loss, 2.0) << "the last one measured";
  EXPECT_DOUBLE_EQ(summary.relative_l2_error, 0.3);
  EXPECT_TRUE(std::isnan(summary.cosine)) << "never measured";
  EXPECT_EQ(summary.skipped_steps, 1);
  EXPECT_EQ(summary.fallback_tensors, 6);
  EXPECT_EQ(summary.selected_tensors, 7);
  EXPECT_EQ(summarize(rows, 100).step_seconds_median, 5.0) << "the last step is always timed";

  const std::string table = summary_table(std::vector{summary});
  EXPECT_NE(table.find("gift"), std::string::npos);
  EXPECT_NE(table.find("2.0000"), std::string::npos) << table;
  EXPECT_NE(table.find("3000.0"), std::string::npos) << "milliseconds: " << table;
}

TEST(Memory, PeakFollowsWhatIsTouched) {
  const ProcessMemory before = process_memory();
  constexpr std::size_t bytes = 256u << 20;
  {
    const std::unique_ptr<char[]> block(new char[bytes]);
    std::memset(block.get(), 1, bytes);
    EXPECT_EQ(block[bytes - 1], 1);
    EXPECT_GT(process_memory().resident_bytes, before.resident_bytes + static_cast<std::int64_t>(bytes / 2));
  }
  const ProcessMemory after = process_memory();
  EXPECT_GE(after.peak_resident_bytes, before.resident_bytes + static_cast<std::int64_t>(bytes / 2));
  EXPECT_LT(after.resident_bytes, after.peak_resident_bytes);
  if (!reset_peak_memory()) GTEST_SKIP() << "this kernel does not reset peaks";
  EXPECT_LT(process_memory().peak_resident_bytes, after.peak_resident_bytes);
}

}  // namespace
}  // namespace minigift
