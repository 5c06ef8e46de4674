// Reading records and bands: what is read, what is ignored, and what every error says.

#include "miniapp/compare/record_set.hpp"

#include "kernels/error.hpp"
#include "miniapp/compare/bands.hpp"
#include "tests/compare/example_records.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace minigift {
namespace {

namespace fs = std::filesystem;
using example::Json;

template <class Call>
std::string usage_error(Call&& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(no error)";
}

class RecordSetTest : public testing::Test {
 public:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / (std::string("minigift_records_") +
                                              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  /// The error of reading one file with this record.
  std::string error_of(const Json& json) const {
    fs::remove(folder_ / "one.json");
    example::write(path("one.json"), json);
    return usage_error([&] { read_records(path("one.json"), false); });
  }

  fs::path folder_;
  Measurement one_ = example::step_measurement("gift", 4, {example::seconds("step_seconds", {1.0, 2.0})});
};

TEST_F(RecordSetTest, FilesFoldersAndRuns) {
  fs::create_directories(folder_ / "a" / "b");
  example::write(path("a/b/step.json"), example::record({one_}));
  example::write(path("a/step-2.json"), example::record({one_, example::step_measurement("fp32", 4, {})}));
  fs::copy_file(path("a/b/step.json"), path("a/copy.json"));
  write("a/notes.json", "{\"x\": 1}");
  write("a/list.json", "[1, 2]");
  write("a/step.txt", "no JSON");
  const RecordSet folder = read_records(path("a"), false);
  EXPECT_EQ(folder.files, (std::vector<std::string>{path("a/b/step.json"), path("a/step-2.json")}));
  EXPECT_EQ(folder.ignored,
            (std::vector<std::string>{path("a/copy.json"), path("a/list.json"), path("a/notes.json")}));
  ASSERT_EQ(folder.cases.size(), 2u);
  EXPECT_EQ(folder.cases[0].runs.size(), 2u);
  EXPECT_EQ(folder.cases[0].key, comparability_key(one_.comparable));
  EXPECT_EQ(folder.cases[0].files[1], path("a/step-2.json"));
  EXPECT_EQ(read_records(path("a/b/step.json"), false).files.size(), 1u);
  // The folder of a run: its record alone, whatever else lies there.
  example::write(path("a/run.json"), example::record({one_}));
  EXPECT_EQ(read_records(path("a"), false).files, std::vector<std::string>{path("a/run.json")});
}

TEST_F(RecordSetTest, MeasurementsSurviveTheFile) {
  one_.metrics.push_back({"bus_bandwidth", "B/s", Better::higher, {1e9, std::nan(""), 3.0}});
  one_.summary["note"] = "x";
  const Measurement back = measurement_from_json(Json::parse(to_json(one_).dump()), "here");
  EXPECT_EQ(back.comparable, one_.comparable);
  ASSERT_EQ(back.metrics.size(), 2u);
  EXPECT_EQ(back.metrics[0].samples, one_.metrics[0].samples);
  EXPECT_EQ(back.metrics[1].unit, "B/s");
  EXPECT_EQ(back.metrics[1].better, Better::higher);
  EXPECT_TRUE(std::isnan(back.metrics[1].samples[1]));
  EXPECT_EQ(back.summary, one_.summary);
}

TEST_F(RecordSetTest, EveryErrorNamesItsFile) {
  const Json good = example::record({one_});
  EXPECT_EQ(error_of(good), "(no error)");
  Json bad = good;
  bad["valid"] = false;
  EXPECT_NE(error_of(bad).find("one.json: the run's result was INVALID"), std::string::npos) << error_of(bad);
  EXPECT_EQ(read_records(path("one.json"), true).cases.size(), 1u);
  bad = good;
  bad["schema_version"] = 3;
  EXPECT_NE(error_of(bad).find("one.json: schema_version 3"), std::string::npos);
  bad = good;
  bad.erase("measurements");
  EXPECT_NE(error_of(bad).find("one.json: no record"), std::string::npos);
  bad = good;
  bad["measurements"][0]["comparable"]["ranks"] = 5;
  EXPECT_NE(error_of(bad).find("one.json: measurement 1: its key"), std::string::npos) << error_of(bad);
  bad = good;
  bad["measurements"][0]["metrics"]["step_seconds"]["samples"][1] = "fast";
  EXPECT_NE(error_of(bad).find("one.json: measurement 1: metric step_seconds has a sample \"fast\""),
            std::string::npos)
      << error_of(bad);
  bad = good;
  bad["measurements"][0]["metrics"]["step_seconds"]["better"] = "more";
  EXPECT_NE(error_of(bad).find("metric step_seconds needs"), std::string::npos);
  bad = good;
  bad["measurements"] = Json::array();
  EXPECT_NE(error_of(bad).find("one.json: no measurements"), std::string::npos);

  const auto error_at = [&](const std::string& name) {
    return usage_error([&] { read_records(path(name), false); });
  };
  EXPECT_NE(error_at("none").find("none: no such file or folder"), std::string::npos);
  // Half a record is no reason to go on without it, wherever it was found.
  write("one.json", good.dump().substr(0, 100));
  EXPECT_NE(error_at("one.json").find("one.json: no JSON at byte"), std::string::npos);
  EXPECT_NE(error_at("").find("one.json: no JSON at byte"), std::string::npos) << error_at("");
  fs::remove(folder_ / "one.json");
  EXPECT_NE(error_at("").find("no measurements in 0 records"), std::string::npos) << error_at("");
}

TEST_F(RecordSetTest, BandsAreReadAndMisspellingsFound) {
  write("bands.toml", "[bands]\ndefault = 0.04\nstep_seconds = 0\nmy_metric = 0.5\n");
  EXPECT_EQ(bands_file_of(folder_.string()), path("bands.toml"));
  EXPECT_EQ(bands_file_of(path("one.json")), path("bands.toml"));
  EXPECT_EQ(bands_file_of(path("one.json") + "/elsewhere/x"), "");
  const Bands bands = read_bands(path("bands.toml"), {"my_metric"});
  EXPECT_EQ(bands.of("wire_seconds"), 0.04);
  EXPECT_EQ(bands.of("step_seconds"), 0.0);
  EXPECT_EQ(bands.of("my_metric"), 0.5);
  const auto error_of_bands = [&](const std::string& text) {
    write("bands.toml", text);
    return usage_error([&] { read_bands(path("bands.toml"), {}); });
  };
  EXPECT_NE(error_of_bands("[bands]\nstep_second = 0.1\n")
                .find(":2:1: unknown metric 'step_second' (nearest: "
                      "'step_seconds')"),
            std::string::npos);
  EXPECT_NE(error_of_bands("[bands]\ndefault = -0.1\n").find("default is -0.1"), std::string::npos);
  EXPECT_NE(error_of_bands("[bands]\ndefault = \"5 %\"\n").find("a band is a number"), std::string::npos);
  EXPECT_NE(error_of_bands("[band]\ndefault = 0.1\n").find("unknown 'band'"), std::string::npos);
  EXPECT_NE(usage_error([&] { read_bands(path("none.toml"), {}); }).find("cannot be read"),
            std::string::npos);
}

}  // namespace
}  // namespace minigift
