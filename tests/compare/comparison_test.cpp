// Matching, every verdict, bands, and what the three outputs say.

#include "kernels/error.hpp"
#include "miniapp/compare/comparison_report.hpp"
#include "tests/compare/example_records.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

namespace minigift {
namespace {

using example::seconds;
using example::step_measurement;

/// 20 samples within 1 % of the median, different on both sides.
std::vector<double> about(double median, int count = 20) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i)
    samples.push_back(median * (1.0 + 0.0101 * ((7 * i) % 20 - 9.5) / 10.0));
  return samples;
}

class ComparisonTest : public testing::Test {
 public:
  /// One method on 4 ranks, 100 ms per step, with a second metric.
  const Comparison& compare(const Metric& before, const Metric& after) {
    return compare({step_measurement("gift", 4, {seconds("step_seconds", about(0.1)), before})},
                   {step_measurement("gift", 4, {seconds("step_seconds", about(0.1)), after})});
  }
  const Comparison& compare(const std::vector<Measurement>& before, const std::vector<Measurement>& after) {
    baseline_ = example::set_of(before, "old");
    current_ = example::set_of(after, "new");
    comparison_ = compare_records(baseline_, current_, match_cases(baseline_, current_, force_), options_);
    return comparison_;
  }
  /// The error of comparing one case with another.
  std::string refusal(const std::vector<Measurement>& before, const std::vector<Measurement>& after) {
    try {
      compare(before, after);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
  const ComparisonRow& row(const std::string& metric) {
    for (const ComparisonRow& one : comparison_.rows) {
      if (one.metric == metric) return one;
    }
    ADD_FAILURE() << "no row " << metric;
    return comparison_.rows.at(0);
  }

  ComparisonOptions options_;
  bool force_ = false;
  Comparison comparison_;

 private:
  RecordSet baseline_, current_;
};

TEST_F(ComparisonTest, EveryVerdict) {
  compare(seconds("wire_seconds", about(0.030)), seconds("wire_seconds", about(0.0302)));
  EXPECT_EQ(row("wire_seconds").verdict, ChangeVerdict::pass);
  EXPECT_EQ(row("wire_seconds").note, "");

  compare(seconds("wire_seconds", about(0.030)), seconds("wire_seconds", about(0.033)));
  EXPECT_EQ(row("wire_seconds").verdict, ChangeVerdict::fail);
  EXPECT_NEAR(row("wire_seconds").slowdown, 1.1, 1e-9);
  EXPECT_EQ(row("step_seconds").verdict, ChangeVerdict::pass);

  std::vector<double> wide = about(0.032);
  for (std::size_t i = 0; i < wide.size(); ++i)
    wide[i] *= 1.0 + 0.3 * (static_cast<double>(i % 5) - 2.0) / 2.0;
  compare(seconds("wire_seconds", about(0.030)), seconds("wire_seconds", wide));
  EXPECT_EQ(row("wire_seconds").verdict, ChangeVerdict::warn);
  EXPECT_EQ(row("wire_seconds").note, "the interval reaches into the band");

  compare(seconds("wire_seconds", about(0.030)), seconds("wire_seconds", about(0.0313)));
  EXPECT_EQ(row("wire_seconds").verdict, ChangeVerdict::warn);
  EXPECT_EQ(row("wire_seconds").note, "slower by more than half the band");

  compare(seconds("wire_seconds", about(0.030)), seconds("wire_seconds", about(0.027)));
  EXPECT_EQ(row("wire_seconds").verdict, ChangeVerdict::pass);
  EXPECT_EQ(row("wire_seconds").note, "faster");

  compare(seconds("wire_seconds", about(0.030, 4)), seconds("wire_seconds", about(0.060)));
  EXPECT_EQ(row("wire_seconds").verdict, ChangeVerdict::unknown);
  EXPECT_EQ(row("wire_seconds").note, "4 and 20 samples, 5 needed");

  compare(seconds("wire_seconds", about(0.030)), seconds("decode_seconds", about(0.060)));
  EXPECT_EQ(row("wire_seconds").verdict, ChangeVerdict::unknown);
  EXPECT_EQ(row("wire_seconds").note, "not in current");
  EXPECT_EQ(row("decode_seconds").note, "not in the baseline");
  EXPECT_EQ(comparison_.count(ChangeVerdict::unknown), 2);
  options_.strict = true;
  compare(seconds("wire_seconds", about(0.030)), seconds("decode_seconds", about(0.060)));
  EXPECT_EQ(comparison_.count(ChangeVerdict::fail), 2);
}

TEST_F(ComparisonTest, FewSamplesAmongManyRowsOnlyWarn) {
  // 5 against 5 samples, all slower: by chance in 1 of 252 cases, too often if there are 60 rows.
  std::vector<Measurement> before, after;
  for (int i = 0; i < 60; ++i) {
    before.push_back(
        step_measurement("method" + std::to_string(i), 4, {seconds("step_seconds", about(0.1, 5))}));
    after.push_back(step_measurement("method" + std::to_string(i), 4,
                                     {seconds("step_seconds", about(i == 0 ? 0.2 : 0.1001, 5))}));
  }
  compare(before, after);
  EXPECT_EQ(comparison_.rows[0].verdict, ChangeVerdict::warn);
  EXPECT_EQ(comparison_.rows[0].note, "too few samples to be sure among 60 rows");
  compare({before[0]}, {after[0]});
  EXPECT_EQ(comparison_.rows[0].verdict, ChangeVerdict::fail);
}

TEST_F(ComparisonTest, AChangeOfEverythingIsTheMachines) {
  const auto run = [](double level) {
    std::vector<Measurement> measurements;
    for (int ranks = 1; ranks <= 12; ++ranks)
      measurements.push_back(
          step_measurement("gift", ranks, {seconds("step_seconds", about(level * ranks))}));
    return measurements;
  };
  compare(run(0.1), run(0.12));
  ASSERT_EQ(comparison_.notes.size(), 1u);
  EXPECT_NE(comparison_.notes[0].find("+20.0 %: the whole machine was slower"), std::string::npos);
  compare(run(0.1), run(0.1));
  EXPECT_TRUE(comparison_.notes.empty());
}

TEST_F(ComparisonTest, SmallPhasesCannotFailAStep) {
  compare(seconds("encode_seconds", about(20e-6)), seconds("encode_seconds", about(60e-6)));
  EXPECT_EQ(row("encode_seconds").verdict, ChangeVerdict::pass);
  EXPECT_EQ(row("encode_seconds").note, "slower, but below the floor");
  EXPECT_NEAR(row("encode_seconds").floor, 0.001, 1e-12) << "1 % of the step";
  options_.floor = 0.0;
  compare(seconds("encode_seconds", about(20e-6)), seconds("encode_seconds", about(60e-6)));
  EXPECT_EQ(row("encode_seconds").verdict, ChangeVerdict::fail);
}

TEST_F(ComparisonTest, IterationsWithoutThePhaseAreLeftOut) {
  const auto every_third = [](double value) {
    std::vector<double> samples = about(value);
    for (std::size_t i = 0; i < samples.size(); ++i)
      samples[i] *= i % 3 == 0 ? 1.0 : 0.0;
    return samples;
  };
  compare(seconds("refresh_seconds", every_third(0.05)), seconds("refresh_seconds", every_third(0.06)));
  EXPECT_EQ(row("refresh_seconds").verdict, ChangeVerdict::fail);
  EXPECT_EQ(row("refresh_seconds").baseline_samples, 7);
  EXPECT_EQ(row("refresh_seconds").note, "ran in 7 of 20 iterations against 7 of 20");
  const std::vector<double> never(20, 0.0);
  compare(seconds("refresh_seconds", never), seconds("refresh_seconds", never));
  EXPECT_EQ(comparison_.rows.size(), 1u) << "a phase that never ran is no row";
  compare(seconds("refresh_seconds", never), seconds("refresh_seconds", about(0.05)));
  EXPECT_EQ(row("refresh_seconds").verdict, ChangeVerdict::fail);
  compare(seconds("refresh_seconds", about(0.05)), seconds("refresh_seconds", never));
  EXPECT_EQ(row("refresh_seconds").verdict, ChangeVerdict::pass);
  EXPECT_EQ(row("refresh_seconds").note, "ran in 20 of 20 iterations against 0 of 20; faster");
}

TEST_F(ComparisonTest, SamplesThatAreNotFiniteDoNotCount) {
  std::vector<double> broken(20, std::numeric_limits<double>::quiet_NaN());
  compare(seconds("wire_seconds", about(0.030)), seconds("wire_seconds", broken));
  EXPECT_EQ(row("wire_seconds").verdict, ChangeVerdict::unknown);
  EXPECT_EQ(row("wire_seconds").current_samples, 0);
}

TEST_F(ComparisonTest, HigherIsBetterIsTurnedRoundAndRatesOfTimesAreNotJudgedTwice) {
  const Metric slow{"bus_bandwidth", "B/s", Better::higher, about(1e9)};
  const Metric fast{"bus_bandwidth", "B/s", Better::higher, about(1.25e9)};
  compare(fast, slow);
  EXPECT_EQ(comparison_.rows.size(), 1u) << "the case has times";
  compare({step_measurement("gift", 4, {fast})}, {step_measurement("gift", 4, {slow})});
  EXPECT_EQ(row("bus_bandwidth").verdict, ChangeVerdict::fail);
  EXPECT_NEAR(row("bus_bandwidth").slowdown, 1.25, 1e-9);
  EXPECT_EQ(row("bus_bandwidth").baseline, median(fast.samples));
  EXPECT_LT(row("bus_bandwidth").interval.low, 1.25);
  EXPECT_GT(row("bus_bandwidth").interval.high, 1.25);
  compare({step_measurement("gift", 4, {slow})}, {step_measurement("gift", 4, {fast})});
  EXPECT_EQ(row("bus_bandwidth").note, "faster");
}

TEST_F(ComparisonTest, ExposedTimeIsJudgedOnlyWhereThereIsOverlap) {
  Measurement one = step_measurement(
      "gift", 4, {seconds("step_seconds", about(0.1)), seconds("exposed_seconds", about(0.05))});
  compare({one}, {one});
  EXPECT_EQ(comparison_.rows.size(), 1u);
  one.comparable["overlap"] = true;
  compare({one}, {one});
  EXPECT_EQ(comparison_.rows.size(), 2u);
}

TEST_F(ComparisonTest, RunsOfOneKeyAreKeptApart) {
  const auto run = [](double level) {
    return step_measurement("gift", 4, {seconds("step_seconds", about(level))});
  };
  // A slow-down of 10 %, but runs are that far apart anyway.
  compare({run(0.100), run(0.112), run(0.094)}, {run(0.110), run(0.120), run(0.101)});
  EXPECT_EQ(row("step_seconds").baseline_runs, 3);
  EXPECT_EQ(row("step_seconds").baseline_samples, 60);
  EXPECT_EQ(row("step_seconds").verdict, ChangeVerdict::warn);
  compare({run(0.100), run(0.101), run(0.099)}, {run(0.110), run(0.111), run(0.109)});
  EXPECT_EQ(row("step_seconds").verdict, ChangeVerdict::fail);
}

TEST_F(ComparisonTest, MissingCasesAreUnknownAndNeverPass) {
  const auto method = [](const std::string& name, int ranks) {
    return step_measurement(name, ranks, {seconds("step_seconds", about(0.1))});
  };
  compare({method("fp32", 4), method("gift", 4), method("fp32", 2)}, {method("fp32", 4), method("bf16", 4)});
  ASSERT_EQ(comparison_.rows.size(), 4u);
  EXPECT_EQ(comparison_.rows[0].verdict, ChangeVerdict::pass);
  for (const std::size_t i : {1u, 2u, 3u}) {
    EXPECT_EQ(comparison_.rows[i].verdict, ChangeVerdict::unknown);
  }
  EXPECT_EQ(comparison_.rows[1].note, "not in current");
  EXPECT_EQ(comparison_.rows[3].note, "not in the baseline");
  EXPECT_EQ(comparison_.names[3], "bf16");
}

TEST_F(ComparisonTest, UnlikeRunsAreRefusedByNameUnlessForced) {
  const auto batch = [](int global, int sequence) {
    Measurement one = step_measurement("gift", 4, {seconds("step_seconds", about(0.1))});
    one.comparable["global_batch"] = global;
    one.comparable["sequence_length"] = sequence;
    return one;
  };
  const std::string message = refusal({batch(64, 128)}, {batch(32, 128)});
  EXPECT_NE(message.find("global_batch 64 against 32"), std::string::npos) << message;
  EXPECT_NE(message.find("--force"), std::string::npos) << message;
  EXPECT_EQ(message.find("sequence_length"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  force_ = true;
  compare({batch(64, 128)}, {batch(32, 256), batch(32, 128)});
  ASSERT_EQ(comparison_.rows.size(), 2u);
  EXPECT_EQ(comparison_.rows[0].verdict, ChangeVerdict::pass) << "the nearer of the two";
  ASSERT_FALSE(comparison_.notes.empty());
  EXPECT_EQ(comparison_.notes[0],
            "FORCED gift, global_batch 64, sequence_length 128: global_batch 64 against 32");
  force_ = false;
  // A second case of the other size is no reason to refuse: each has its counterpart or none at all.
  compare({batch(64, 128)}, {batch(64, 128), batch(32, 128)});
  EXPECT_EQ(comparison_.rows[1].note, "not in the baseline");
  const std::string nothing = refusal({step_measurement("gift", 4, {})}, {step_measurement("gift", 8, {})});
  EXPECT_NE(nothing.find("no case in common"), std::string::npos) << nothing;
  EXPECT_NE(nothing.find("ranks 4 against 8"), std::string::npos) << nothing;
}

TEST_F(ComparisonTest, BandsAreOfTheMetric) {
  options_.bands.metrics["wire_seconds"] = 0.2;
  compare(seconds("wire_seconds", about(0.030)), seconds("wire_seconds", about(0.033)));
  EXPECT_EQ(row("wire_seconds").verdict, ChangeVerdict::pass);
  EXPECT_EQ(row("wire_seconds").band, 0.2);
  EXPECT_EQ(row("step_seconds").band, 0.05);
}

TEST_F(ComparisonTest, OutputsNameTheMetricWithBothValues) {
  compare({step_measurement("gi<f>t", 4,
                            {seconds("step_seconds", about(0.1)), seconds("wire_seconds", about(0.030))}),
           step_measurement("fp32", 4, {seconds("step_seconds", about(0.1))})},
          {step_measurement("gi<f>t", 4,
                            {seconds("step_seconds", about(0.1)), seconds("wire_seconds", about(0.033))})});
  const std::string text = comparison_text(comparison_, false);
  EXPECT_NE(text.find("wire_seconds"), std::string::npos) << text;
  EXPECT_NE(text.find("30 ms    33 ms     +10.0"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("COMPARE 1 PASS, 0 WARN, 1 FAIL, 1 UNKNOWN\n")) << text;
  EXPECT_NE(text.find("\nregressions:\n"), std::string::npos) << text;

  const auto json = nlohmann::json::parse(to_json(comparison_).dump());
  EXPECT_EQ(json["counts"]["FAIL"], 1);
  EXPECT_EQ(json["rows"][1]["metric"], "wire_seconds");
  EXPECT_EQ(json["rows"][1]["verdict"], "FAIL");
  EXPECT_NEAR(json["rows"][1]["current"].get<double>(), 0.033, 1e-12);
  EXPECT_TRUE(json["rows"][2]["baseline"].is_null());
  EXPECT_TRUE(json["rows"][2]["metric"].is_null());

  const std::string xml = junit_xml(comparison_);
  EXPECT_NE(xml.find("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("wire_seconds: baseline 0.03 s, current 0.033 s, worse by +10.00 %"), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("gi&lt;f&gt;t"), std::string::npos) << xml;
  EXPECT_EQ(xml.find("gi<f>t"), std::string::npos) << xml;
}

}  // namespace
}  // namespace minigift
