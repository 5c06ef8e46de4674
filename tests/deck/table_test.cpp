// Text for people: aligned columns, units, cells, the progress line.

#include "miniapp/report/table.hpp"

#include "kernels/error.hpp"
#include "miniapp/report/progress.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

namespace minigift {
namespace {

TEST(Table, ColumnsAlignWithUnitsBelowTitles) {
  Table table({{"method", "", Align::left}, {"step", "ms"}, {"wire", "B"}});
  table.add_row({"fp32", "12.5", "1,000"});
  table.add_row({"euclidean", "8.25", "500"});
  EXPECT_EQ(table.text(),
            "method     step   wire\n"
            "           (ms)    (B)\n"
            "fp32       12.5  1,000\n"
            "euclidean  8.25    500\n");
  EXPECT_EQ(table.markdown(),
            "| method | step (ms) | wire (B) |\n"
            "|---|---:|---:|\n"
            "| fp32 | 12.5 | 1,000 |\n"
            "| euclidean | 8.25 | 500 |\n");
  EXPECT_THROW(table.add_row({"too", "few"}), RuntimeError);
}

TEST(Table, NoUnitsNoUnitsRowAndCharactersAreCountedNotBytes) {
  Table table({{"γ"}, {"x"}});
  table.add_row({"1", "2"});
  table.add_row({"µµ", "3"});
  EXPECT_EQ(table.text(), " γ  x\n 1  2\nµµ  3\n");
}

TEST(Cells, NumbersForPeople) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(cell_fixed(3.14159, 3), "3.142");
  EXPECT_EQ(cell_fixed(nan, 3), "-");
  EXPECT_EQ(cell_scientific(0.0314, 1), "3.1e-02");
  EXPECT_EQ(cell_scientific(nan, 1), "-");
  EXPECT_EQ(cell_count(0), "0");
  EXPECT_EQ(cell_count(999), "999");
  EXPECT_EQ(cell_count(1000), "1,000");
  EXPECT_EQ(cell_count(-1234567), "-1,234,567");
  EXPECT_EQ(cell_count(-123), "-123");
  EXPECT_EQ(cell_scaled(0), "0");
  EXPECT_EQ(cell_scaled(999), "999");
  EXPECT_EQ(cell_scaled(999.7), "1.00 k");
  EXPECT_EQ(cell_scaled(1500000), "1.50 M");
  EXPECT_EQ(cell_scaled(16.26e9), "16.3 G");
  EXPECT_EQ(cell_scaled(-2.5), "-2.50");
  EXPECT_EQ(cell_scaled(nan), "-");
  EXPECT_EQ(cell_duration(4.21), "4.2s");
  EXPECT_EQ(cell_duration(59.96), "1m00s");
  EXPECT_EQ(cell_duration(185), "3m05s");
  EXPECT_EQ(cell_duration(3720), "1h02m");
  EXPECT_EQ(cell_duration(nan), "-");
}

/// What an action wrote to a stream.
template <class Action>
std::string written(Action&& action) {
  std::FILE* stream = std::tmpfile();
  action(stream);
  std::rewind(stream);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), stream));
  std::fclose(stream);
  return text;
}

TEST(Progress, WithoutTerminalOneLinePerInterval) {
  const std::string text = written([](std::FILE* stream) {
    ProgressLine line(stream, 1000.0);
    line.update(0.25, "fp32 step 1/4");
    line.update(0.50, "fp32 step 2/4");  // within the interval
    line.message("a message");
  });
  EXPECT_EQ(text.find(" 25 %  fp32 step 1/4  elapsed "), 0u) << text;
  EXPECT_EQ(text.find("2/4"), std::string::npos);
  EXPECT_TRUE(text.ends_with("a message\n"));
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Progress, OnATerminalTheLineIsRewrittenAndRemoved) {
  const std::string text = written([](std::FILE* stream) {
    ProgressLine line(stream, 1000.0, true);
    line.update(0.0, "start");
    line.message("a message");
    line.finish();
  });
  EXPECT_EQ(text.find("\r\x1b[K  0 %  start  elapsed "), 0u) << text;
  EXPECT_NE(text.find("left unknown\r\x1b[Ka message\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[K"));
}

TEST(Progress, TimeLeftIsElapsedTimesWhatIsLeft) {
  const std::string text = written([](std::FILE* stream) {
    ProgressLine line(stream, 0.0);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    line.update(0.125, "x");  // 0.5 s for an eighth: 3.5 s left
  });
  const std::size_t elapsed_at = text.find("elapsed ");
  const std::size_t left_at = text.find("left ");
  ASSERT_NE(elapsed_at, std::string::npos) << text;
  ASSERT_NE(left_at, std::string::npos) << text;
  const double elapsed = std::stod(text.substr(elapsed_at + 8));  // both rounded to 0.1 s
  EXPECT_GE(elapsed, 0.5);
  EXPECT_NEAR(std::stod(text.substr(left_at + 5)), 7 * elapsed, 7 * 0.05 + 0.06) << text;
}

}  // namespace
}  // namespace minigift
