// What a run leaves behind.
#include "miniapp/comm/comm_record.hpp"
#include "miniapp/comm/comm_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace {

using namespace minigift;

CommRow example() {
  CommRow row;
  row.wanted = {CollectiveChoice::a2a, Format::e4m3, 1048576, 0};
  row.ranks = 4;
  row.seconds_first = 3e-3;
  row.seconds = {2e-3, 1e-3, 1.5e-3};
  row.wire_bytes = 1572888;
  row.error = 0.05;
  row.bound = 0.13;
  row.comparisons = 2;
  return row;
}

TEST(CommRecord, MeasurementHoldsSamplesAndWhatMustAgree) {
  const auto json =
      to_json(to_measurement(example(), {.transport = "host", .ranks = 4, .ranks_per_node = 4}));
  EXPECT_EQ(json["comparable"]["command"], "comm");
  EXPECT_EQ(json["comparable"]["collective"], "a2a");
  EXPECT_EQ(json["comparable"]["format"], "e4m3");
  EXPECT_EQ(json["comparable"]["count"], 1048576);
  EXPECT_EQ(json["comparable"]["size"], 1048576);
  EXPECT_EQ(json["comparable"]["device"], "host");
  EXPECT_EQ(json["metrics"]["seconds"]["samples"].dump(), "[0.002,0.001,0.0015]");
  EXPECT_EQ(json["metrics"]["seconds"]["better"], "lower");
  EXPECT_EQ(json["metrics"]["bus_bandwidth"]["better"], "higher");
  const double bus = json["metrics"]["bus_bandwidth"]["samples"][1];
  EXPECT_DOUBLE_EQ(bus, 1.5 * 1048576 / 1e-3);
  EXPECT_EQ(json["summary"]["verdict"], "PASS");
  EXPECT_DOUBLE_EQ(json["summary"]["seconds_median"], 1.5e-3);
  EXPECT_DOUBLE_EQ(json["summary"]["seconds_first"], 3e-3);
  EXPECT_EQ(json["summary"]["wire_bytes"], 1572888);
}

TEST(CommRecord, WhatIsNoNumberIsNull) {
  CommRow row = example();
  row.error = std::numeric_limits<double>::infinity();
  row.error_failure = "iteration 1: not finite";
  const auto json = to_json(to_measurement(row, {}));
  EXPECT_TRUE(json["summary"]["maximum_relative_error"].is_null());
  EXPECT_EQ(json["summary"]["verdict"], "FAIL");
  EXPECT_EQ(json["summary"]["reason"], "iteration 1: not finite");
}

TEST(CommRecord, SkippedRowsStayVisible) {
  CommRow row;
  row.wanted = {CollectiveChoice::native, Format::int8, 1024, 0};
  row.skipped = "codes of format int8 cannot be added";
  const auto json = to_json(to_measurement(row, {}));
  EXPECT_EQ(json["summary"]["verdict"], "SKIPPED");
  EXPECT_EQ(json["summary"]["reason"], row.skipped);
  EXPECT_TRUE(json["metrics"].empty());
  const std::vector<CommRow> rows = {example(), row};
  EXPECT_NE(comm_table(rows).find("SKIPPED [1]"), std::string::npos);
  EXPECT_EQ(skip_notes(rows), "[1] not measured: codes of format int8 cannot be added\n");
}

TEST(CommRecord, CsvHasALinePerIteration) {
  const std::vector<CommRow> rows = {example()};
  const std::string csv = comm_csv(rows);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "size,count,format,collective,iteration,seconds,algorithm_bandwidth,bus_bandwidth,wire_bytes,"
            "verdict");
  EXPECT_NE(csv.find("1048576,1048576,e4m3,a2a,2,0.001,1048576000,1572864000,1572888,PASS"),
            std::string::npos);
}

}  // namespace
