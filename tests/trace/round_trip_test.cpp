// What is written is read back bit for bit: any number of ranks, some not recorded, filters, small pieces.

#include "kernels/error.hpp"
#include "tests/trace/fixture.hpp"

namespace {

using namespace minigift;
using namespace minigift::test;

class RoundTrip : public TraceTest {
 protected:
  /// Writes, and reads on every rank.
  void round_trip(const TraceHeader& trace_header, const TraceWriterOptions& options) {
    const std::string path = file_name(fmt::format("{}.h5", ++files));
    write(path, trace_header, options, {200, 0, 7});
    EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
    const TraceReader trace(path);
    expect_trace(trace, trace_header, {0, 7, 200});
  }
  int files = 0;
};

TEST_F(RoundTrip, Plain) {
  round_trip(header(), {});
}

TEST_F(RoundTrip, SomeRanksAreNotRecorded) {
  round_trip(small_header(communicator.size(), (communicator.size() + 1) / 2), {});
}

TEST_F(RoundTrip, ShuffledAndDeflated) {
  TraceWriterOptions options;
  options.shuffle = true;
  options.deflate = 4;
  round_trip(header(), options);
}

TEST_F(RoundTrip, ShuffledAndDeflatedWhereRanksHaveNothing) {
  TraceWriterOptions options;
  options.shuffle = true;
  options.deflate = 1;
  options.chunk_bytes = 2000;
  round_trip(small_header(communicator.size(), 1), options);
}

TEST_F(RoundTrip, InSmallPieces) {
  for (const std::int64_t most : {4, 400, 3000}) {  // one element, a part of a row, rows
    TraceHeader small = header();
    small.tensors.resize(2);
    small.tensors.push_back({"wide", "mlp_down", 1, 3, 301, ""});
    small.sites.resize(1);
    small.content = {true, false, false, true};
    if (most == 4) {
      small.tensors = {{"tiny", "mlp_down", 1, 3, 5, ""}};
      small.content = {true, false, false, false};
    }
    for (const int deflate : {0, 1}) {
      TraceWriterOptions options;
      options.max_write_bytes = most;
      options.deflate = deflate;
      round_trip(small, options);
    }
  }
}

TEST_F(RoundTrip, HeaderSurvives) {
  const std::string path = file_name("trace.h5");
  TraceHeader one = header();
  one.content = {true, false, false, false};
  write(path, one, {}, {3});
  const TraceReader trace(path);
  const TraceHeader& found = trace.header();
  EXPECT_EQ(found.program_version, one.program_version);
  EXPECT_EQ(found.git_commit, one.git_commit);
  EXPECT_EQ(found.created_utc, one.created_utc);
  EXPECT_EQ(found.model, one.model);
  EXPECT_EQ(found.deck, one.deck);
  EXPECT_EQ(found.method, one.method);
  EXPECT_EQ(found.world_size, communicator.size());
  EXPECT_EQ(found.ranks, communicator.size());
  EXPECT_TRUE(found.content.gradient);
  EXPECT_FALSE(found.content.input_moment || found.content.output_moment || found.content.sketch);
  ASSERT_EQ(found.tensors.size(), one.tensors.size());
  for (std::size_t i = 0; i < one.tensors.size(); ++i) {
    EXPECT_EQ(found.tensors[i].name, one.tensors[i].name);
    EXPECT_EQ(found.tensors[i].role, one.tensors[i].role);
    EXPECT_EQ(found.tensors[i].layer, one.tensors[i].layer);
    EXPECT_EQ(found.tensors[i].rows, one.tensors[i].rows);
    EXPECT_EQ(found.tensors[i].columns, one.tensors[i].columns);
    EXPECT_EQ(found.tensors[i].input_site, one.tensors[i].input_site);
  }
  ASSERT_EQ(found.sites.size(), one.sites.size());
  EXPECT_EQ(found.sites[1].name, one.sites[1].name);
  EXPECT_EQ(found.sites[1].layer, 1);
  EXPECT_EQ(found.sites[1].width, 301);
  EXPECT_EQ(trace.find_tensor("one.row"), 3);
  EXPECT_EQ(trace.find_site("model.layers.1.down:input"), 1);
  EXPECT_THROW(trace.find_tensor("no.such"), UsageError);
  EXPECT_THROW(trace.input_moment(0, 0, 0), RuntimeError);
  EXPECT_THROW(trace.gradient(1, 0, 0), RuntimeError);
  EXPECT_THROW(trace.gradient(0, 4, 0), RuntimeError);
  EXPECT_THROW(trace.gradient(0, 0, communicator.size()), RuntimeError);
}

}  // namespace
