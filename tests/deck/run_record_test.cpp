// run.json: true JSON (null for what was not measured, booleans as booleans), complete, and without secrets.

#include "miniapp/report/run_record.hpp"

#include "miniapp/report/results_folder.hpp"
#include "tests/deck/schema_check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace minigift {
namespace {

using Json = nlohmann::json;
using schema::matches;

RunRecord example_record() {
  RunRecord record;
  record.command = "train";
  record.arguments = {"minigift", "train", "x.toml"};
  record.started_utc = utc_now();
  record.finished_utc = utc_now();
  record.ranks = 2;
  record.data_description = "made up";
  record.data_hash = 0xfedcba9876543210u;
  record.environment = environment_record({"some MPI", "some BLAS"});
  record.placement = {placement_record(0), placement_record(1)};
  MethodSummary summary;
  summary.method = "fp32";
  summary.validation_loss = 1.5;
  record.methods = {summary};
  MethodDeck method;
  method.name = "fp32";
  record.deck.methods = {method};
  record.verify = {{"finite", Verdict::pass, "0 values"}};
  record.figures_of_merit = {{"tokens_per_s", 1e4}, {"nothing", not_measured}};
  return record;
}

TEST(RunRecord, NothingMeasuredIsNullAndBooleansAreBooleans) {
  const std::string text = to_json(example_record()).dump();
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("NaN"), std::string::npos);
  const Json json = Json::parse(text);  // a strict parser
  EXPECT_TRUE(json["wall_seconds"].is_null());
  EXPECT_TRUE(json["methods"][0]["cosine"].is_null());
  EXPECT_EQ(json["methods"][0]["validation_loss"], 1.5);
  EXPECT_TRUE(json["figures_of_merit"]["nothing"].is_null());
  EXPECT_EQ(json["valid"], true);
  EXPECT_TRUE(json["environment"]["git"]["dirty"].is_boolean());
  EXPECT_EQ(json["data"]["hash"], "0xfedcba9876543210");
  EXPECT_EQ(json["deck"]["train"]["compute"], "fp32");
  EXPECT_TRUE(json["deck"]["optimizer"]["muon_momentum"].is_null());
  EXPECT_EQ(json["deck"]["exchange"]["method"]["fp32"]["format"], "fp32");
  EXPECT_FALSE(json["deck"]["model"].contains("deck"));
}

TEST(RunRecord, TextThatIsNotUtf8DoesNotLoseTheResult) {
  RunRecord record = example_record();
  record.arguments.push_back("\xff\xfe");
  const auto folder = std::filesystem::path(testing::TempDir()) / "minigift_run_record";
  std::filesystem::remove_all(folder);
  create_results_folder(folder.string());
  write_run_json(folder.string(), record);
  std::ifstream file(folder / "run.json");
  EXPECT_EQ(Json::parse(file)["ranks"], 2);
  EXPECT_THROW(write_run_json(folder.string(), record), std::runtime_error);
  std::filesystem::remove_all(folder);
}

TEST(RunRecord, ValidNeedsEveryLineToPass) {
  EXPECT_FALSE(valid({}));
  EXPECT_TRUE(valid({{"a", Verdict::pass, ""}}));
  EXPECT_FALSE(valid({{"a", Verdict::pass, ""}, {"b", Verdict::fail, ""}}));
  EXPECT_FALSE(valid({{"a", Verdict::pass, ""}, {"b", Verdict::unchecked, ""}}));
  EXPECT_EQ(verify_text({{"finite", Verdict::pass, "0"}, {"loss", Verdict::unchecked, "x"}}),
            "VERIFY finite : PASS  0\nVERIFY loss   : UNCHECKED  x\n");
}

/// What the schema finds wrong with a record, one line each.
std::string problems(const RunRecord& record) {
  std::ifstream file(MINIGIFT_RESULTS_SCHEMA);
  const Json root = Json::parse(file);
  const auto found = schema::problems(root, Json::parse(to_json(record).dump()), root, "run");
  return fmt::format("{}", fmt::join(found, "\n"));
}

TEST(RunRecord, EachCommandNeedsItsOwnParts) {
  RunRecord record = example_record();
  EXPECT_EQ(problems(record), "");
  record.methods.clear();
  record.data_description.clear();
  EXPECT_EQ(problems(record), "run has no data\nrun has no methods");
  record.command = "step";
  EXPECT_EQ(problems(record), "");
  record.command = "stepp";
  EXPECT_EQ(problems(record), "run.command is \"stepp\", none of [\"train\",\"step\",\"comm\"]");
}

TEST(RunRecord, MeasurementsFitTheSchema) {
  RunRecord record = example_record();
  Measurement measurement;
  measurement.comparable = {{"command", "train"}, {"ranks", 2}, {"overlap", false}, {"method", "fp32"}};
  measurement.metrics = {{"step_seconds", "s", Better::lower, {0.1, not_measured}}};
  measurement.summary = {{"break_even_fp32", "always"}, {"skew", nullptr}};
  record.measurements = {measurement};
  EXPECT_EQ(problems(record), "");
  record.measurements[0].comparable["shape"] = {1, 2};
  EXPECT_EQ(problems(record),
            "run.measurements[0].comparable.shape is [1,2], not "
            "[\"string\",\"number\",\"boolean\",\"null\"]");
  record.measurements[0].comparable = {{"command", "train"}};
  EXPECT_EQ(problems(record), "run.measurements[0].comparable has no ranks");
}

TEST(RunRecord, TheSchemaNamesEveryColumnAndTheVersion) {
  std::ifstream file(MINIGIFT_RESULTS_SCHEMA);
  const Json schema = Json::parse(file);
  EXPECT_EQ(schema["properties"]["schema_version"]["const"], run_schema_version);
  std::set<std::string> required;
  for (const auto& name : schema["$defs"]["method"]["required"])
    required.insert(name);
  std::set<std::string> columns;
  MethodSummary::columns(example_record().methods[0],
                         [&](const auto&, const Column& column) { columns.emplace(column.name); });
  EXPECT_EQ(required, columns);
}

TEST(Environment, SecretsNeverAppear) {
  const std::string secret = "do-not-share-7f3a";
  const std::vector<const char*> names = {"GITHUB_TOKEN",
                                          "OMPI_MCA_secret_key",
                                          "MY_VARIABLE",
                                          "SLURM_JOB_USER",
                                          "OMP_AUTH_TOKEN",
                                          "NCCL_password",
                                          "HOME_PAGE",
                                          "KOKKOS_NUM_APIKEY",
                                          "AWS_SESSION_TOKEN",
                                          "XOMP_NUM_THREADS",
                                          "OMPI_MCA_orte_top_session_dir",
                                          "OMPI_MCA_initial_wdir"};
  for (const char* name : names)
    setenv(name, secret.c_str(), 1);
  setenv("OMP_PROC_BIND", "spread", 1);
  setenv("SLURM_JOB_ID", "4242", 1);
  const std::string text = to_json(example_record()).dump();
  EXPECT_EQ(text.find(secret), std::string::npos);
  const Json variables = Json::parse(text)["environment"]["variables"];
  EXPECT_EQ(variables["OMP_PROC_BIND"], "spread");
  EXPECT_EQ(variables["SLURM_JOB_ID"], "4242");
  for (const char* name : names) {
    EXPECT_FALSE(variables.contains(name)) << name;
    unsetenv(name);
  }
}

TEST(Environment, SaysWhereAResultCameFrom) {
  const Json json = Json::parse(environment_record({"some MPI", "some BLAS"}).dump());
  EXPECT_TRUE(matches(json["git"]["commit"].get<std::string>(), "^([0-9a-f]{40}|unknown)$"));
  EXPECT_EQ(json["mpi"], "some MPI");
  EXPECT_EQ(json["linear_algebra"], "some BLAS");
  EXPECT_NE(json["compiler_flags"].get<std::string>().find("-O"), std::string::npos);
  EXPECT_EQ(json["compiler_flags"].get<std::string>().find("$<"), std::string::npos);
  EXPECT_GT(json["memory_bytes"].get<std::int64_t>(), std::int64_t{1} << 20);
  EXPECT_FALSE(json["kokkos"]["version"].get<std::string>().empty());
  const Json place = Json::parse(placement_record(3).dump());
  EXPECT_EQ(place["rank"], 3);
  EXPECT_GE(place["cpus"].size(), 1u);
  EXPECT_TRUE(matches(utc_now(), "^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"));
}

}  // namespace
}  // namespace minigift
