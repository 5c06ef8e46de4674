// Measurements as JSON, their comparability key, and kept records that are never replaced.

#include "miniapp/report/measurement.hpp"

#include "kernels/error.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace minigift {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

TEST(Measurement, KeyDependsOnValuesAndNotOnOrder) {
  const Json one = {{"command", "step"}, {"ranks", 4}, {"overlap", false}};
  const Json other = {{"overlap", false}, {"command", "step"}, {"ranks", 4}};
  EXPECT_EQ(comparability_key(one), comparability_key(other));
  std::set<std::string> keys = {comparability_key(one)};
  for (const Json& changed : {Json{{"command", "step"}, {"ranks", 5}, {"overlap", false}},
                              Json{{"command", "step"}, {"ranks", "4"}, {"overlap", false}},
                              Json{{"command", "step"}, {"rank", 4}, {"overlap", false}},
                              Json{{"command", "step"}, {"ranks", 4}}, Json::object()})
    keys.insert(comparability_key(changed));
  EXPECT_EQ(keys.size(), 6u);
  // FNV-1a of no bytes is its offset basis; of "a=1\n" as computed by hand-written code in another language.
  EXPECT_EQ(comparability_key(Json::object()), "0xcbf29ce484222325");
}

TEST(Measurement, SamplesThatAreNotFiniteAreNull) {
  Measurement measurement;
  measurement.comparable = {{"ranks", 2}};
  measurement.metrics = {{"seconds", "s", Better::lower, {0.1, std::nan(""), INFINITY}},
                         {"bus_bandwidth", "B/s", Better::higher, {}}};
  const auto json = nlohmann::json::parse(to_json(measurement).dump());
  EXPECT_EQ(json["metrics"]["seconds"]["samples"].dump(), "[0.1,null,null]");
  EXPECT_EQ(json["metrics"]["seconds"]["better"], "lower");
  EXPECT_EQ(json["metrics"]["bus_bandwidth"]["better"], "higher");
  EXPECT_EQ(json["key"], comparability_key(measurement.comparable));
}

TEST(KeptRecords, AreNumberedAndNeverReplaced) {
  const fs::path folder = fs::path(testing::TempDir()) / "minigift_kept_records";
  fs::remove_all(folder);
  const std::string below = (folder / "cluster").string();
  EXPECT_EQ(keep_record(below, "step-r4", {{"run", 1}}), (folder / "cluster" / "step-r4.json").string());
  EXPECT_EQ(keep_record(below, "step-r4", {{"run", 2}}), (folder / "cluster" / "step-r4-2.json").string());
  EXPECT_EQ(keep_record(below, "step-r4", {{"run", 3}}), (folder / "cluster" / "step-r4-3.json").string());
  for (int run = 1; run <= 3; ++run) {
    std::ifstream file(folder / "cluster" /
                       (run == 1 ? "step-r4.json" : fmt::format("step-r4-{}.json", run)));
    EXPECT_EQ(Json::parse(file)["run"], run);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "cluster"), fs::directory_iterator()), 3)
      << "nothing half-written is left";
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(keep_record((folder / "file").string(), "step-r4", {}), UsageError);
  EXPECT_THROW(keep_record(below, "no/such/step", {}), UsageError);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace minigift
