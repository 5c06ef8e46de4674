// Curves of other tools: read, matched, refused.
#include "miniapp/comm/reference_curve.hpp"

#include "kernels/error.hpp"
#include "miniapp/comm/comm_table.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace {

using namespace minigift;

const std::string data = MINIGIFT_COMM_DATA;

TEST(ReferenceCurve, NcclTestsJson) {
  const auto curves = read_reference(data + "/nccl.json", 4);
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].tool, "nccl-tests");
  EXPECT_EQ(curves[0].operation, ReferenceOperation::all_reduce);
  EXPECT_EQ(curves[0].type, "float");
  ASSERT_EQ(curves[0].points.size(), 2u);
  EXPECT_EQ(curves[0].points[1].size, 16384);
  EXPECT_DOUBLE_EQ(curves[0].points[1].seconds, 32e-6);
  EXPECT_DOUBLE_EQ(curves[0].points[1].bus_bandwidth, 0.768e9);
  EXPECT_EQ(curves[1].type, "f8e4m3");
  EXPECT_DOUBLE_EQ(curves[1].points[0].seconds, 25e-6);  // out_of_place is null: in place
}

TEST(ReferenceCurve, OsuText) {
  const auto curves = read_reference(data + "/osu_allreduce.txt", 4);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].tool, "osu");
  EXPECT_EQ(curves[0].type, "MPI_CHAR");
  ASSERT_EQ(curves[0].points.size(), 2u);
  EXPECT_EQ(curves[0].points[0].size, 4096);
  EXPECT_DOUBLE_EQ(curves[0].points[0].seconds, 12.5e-6);
  EXPECT_DOUBLE_EQ(curves[0].points[0].bus_bandwidth, 1.5 * 4096 / 12.5e-6);
}

TEST(ReferenceCurve, OsuSizesOfOnePartBecomeThoseOfAllParts) {
  const auto curves = parse_osu("# OSU MPI Allgather Latency Test v7.4\n1024 8.0\n", "x", 4);
  EXPECT_EQ(curves[0].operation, ReferenceOperation::all_gather);
  EXPECT_EQ(curves[0].points[0].size, 4096);
  EXPECT_DOUBLE_EQ(curves[0].points[0].bus_bandwidth, 0.75 * 4096 / 8e-6);
  const auto exchange =
      parse_osu("# OSU MPI All-to-All Personalized Exchange Latency Test v7.4\n1024 8.0\n", "x", 2);
  EXPECT_EQ(exchange[0].operation, ReferenceOperation::all_to_all);
  EXPECT_EQ(exchange[0].points[0].size, 2048);
  const auto scatter = parse_osu("# OSU MPI Reduce_scatter Latency Test v7.4\n1024 8.0\n", "x", 4);
  EXPECT_EQ(scatter[0].points[0].size, 1024);
}

TEST(ReferenceCurve, RowsOfEqualOperationAndBytesMatch) {
  const auto curves = read_reference(data + "/nccl.json", 4);
  CommRow row;
  row.ranks = 4;
  row.seconds = {40e-6};
  row.wanted = {CollectiveChoice::a2a, Format::e4m3, 4096, 0};
  ASSERT_TRUE(point_for(row, curves[0]));
  EXPECT_DOUBLE_EQ(point_for(row, curves[0])->seconds, 20e-6);
  row.wanted.count = 4097;
  EXPECT_FALSE(point_for(row, curves[0]));
  row.wanted = {CollectiveChoice::reduce_scatter, Format::e4m3, 4096, 0};
  EXPECT_FALSE(point_for(row, curves[0]));
  row.wanted = {CollectiveChoice::mpi_allreduce, Format::fp32, 1024, 0};
  const std::string table = reference_table(std::vector{row}, curves);
  EXPECT_NE(table.find("2.00"), std::string::npos) << table;  // 40 us / 20 us
  row.wanted.count = 5;
  EXPECT_NE(reference_table(std::vector{row}, curves).find("none of their operations"), std::string::npos);
  EXPECT_EQ(reference_table(std::vector{row}, {}), "");
}

/// One line that names the file and what is wrong.
void expect_error(const std::function<void()>& read, const std::string& words) {
  try {
    read();
    FAIL() << "no error; expected " << words;
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(ReferenceCurve, ErrorsNameFileAndPlace) {
  const auto nccl = [](const char* text) { return [text] { parse_nccl_tests(text, "f.json"); }; };
  const std::string good_args = R"("args": ["all_reduce_perf"])";
  expect_error(nccl("{\n\"version\": 3,\n oops"), "f.json:3: not JSON");
  expect_error(nccl(R"({"version": 2})"), "f.json: version = 2");
  expect_error(nccl("{}"), "f.json: no version");
  expect_error(nccl(R"({"version": "3"})"), "f.json: version has the wrong type");
  expect_error(nccl(R"({"version": 3, "args": ["sendrecv_perf"]})"), "sendrecv_perf");
  expect_error(nccl(R"({"version": 3, "args": ["all_reduce_perf"], "results": []})"), "results is empty");
  expect_error(
      nccl(R"({"version": 3, "args": ["all_reduce_perf"], "results": [{"size": 4, "type": "float"}]})"),
      "f.json: results[0]: no out_of_place");
  expect_error(nccl(R"({"version": 3, "args": ["all_reduce_perf"],
                        "results": [{"size": 4, "type": "float", "out_of_place": {"time": 0, "bus_bw": 1}}]})"),
               "f.json: results[0].out_of_place: time is 0");
  const auto osu = [](const char* text) { return [text] { parse_osu(text, "f.txt", 2); }; };
  expect_error(osu("hello world\n"), "f.txt:1: numbers before");
  expect_error(osu("# just words\n"), "f.txt: neither");
  expect_error(osu("# OSU MPI Bcast Latency Test\n"), "f.txt:1: none of the collectives");
  expect_error(osu("# OSU MPI Allreduce Latency Test\n4096\n"), "f.txt:2: expected a size and a time");
  expect_error(osu("# OSU MPI Allreduce Latency Test\n4096 fast\n"), "f.txt:2: \"fast\" is not a number");
  expect_error(osu("# OSU MPI Allreduce Latency Test\n"), "f.txt: no line of numbers");
  expect_error([] { read_reference("no-such-file", 2); }, "no-such-file");
}

}  // namespace
