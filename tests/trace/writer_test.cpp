// What a writer refuses, and what it leaves behind.

#include "kernels/error.hpp"
#include "miniapp/trace/array_summary.hpp"
#include "miniapp/trace/hdf5_attribute.hpp"
#include "miniapp/trace/hdf5_file.hpp"
#include "miniapp/trace/verify.hpp"
#include "miniapp/transport/mpi_handle.hpp"
#include "tests/trace/fixture.hpp"

#include <fstream>
#include <limits>

namespace {

using namespace minigift;
using namespace minigift::test;

class Writer : public TraceTest {
 protected:
  std::string refused(const TraceHeader& trace_header, const TraceWriterOptions& options = {},
                      const std::string& name = "trace.h5") {
    return error_of<UsageError>([&] { TraceWriter(file_name(name), trace_header, options, communicator); });
  }
  void touch(const std::string& name) {
    if (is_root()) std::ofstream(file_name(name)) << "here before";
    communicator.barrier();
  }
  std::string content(const std::string& name) {
    std::ifstream file(file_name(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(Writer, NeverOverwrites) {
  touch("trace.h5");
  EXPECT_NE(refused(header()).find("trace.h5 exists"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file_name("trace.h5.partial")));
  touch("other.h5.partial");
  EXPECT_NE(refused(header(), {}, "other.h5").find("other.h5.partial exists"), std::string::npos);
  EXPECT_EQ(content("trace.h5"), "here before");
  EXPECT_EQ(content("other.h5.partial"), "here before");
}

TEST_F(Writer, DoesNotReplaceAFileThatHasAppeared) {
  TraceHeader one = header();
  one.content = {true, false, false, false};
  TraceWriter writer(file_name("trace.h5"), one, {}, communicator);
  write_step(writer, one, 1, communicator.rank());
  touch("trace.h5");
  EXPECT_NE(error_of<RuntimeError>([&] { writer.finish(); }).find("has appeared"), std::string::npos);
  EXPECT_EQ(content("trace.h5"), "here before");
  communicator.barrier();
  if (is_root()) std::filesystem::rename(file_name("trace.h5.partial"), file_name("kept.h5"));
  communicator.barrier();
  for (const TraceCheck& check : verify_trace(file_name("kept.h5")))
    EXPECT_TRUE(check.passed) << check.name << check.text;
}

TEST_F(Writer, NamesWhatCannotBeCreated) {
  EXPECT_NE(
      refused(header(), {}, "no/such/folder.h5").find("folder.h5.partial: cannot create it: No such file"),
      std::string::npos);
}

TEST_F(Writer, LeavesNothingWithoutFinish) {
  {
    TraceWriter writer(file_name("trace.h5"), header(), {}, communicator);
    write_step(writer, header(), 1, communicator.rank());
    EXPECT_TRUE(std::filesystem::exists(file_name("trace.h5.partial")));
    communicator.barrier();
  }
  communicator.barrier();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  communicator.barrier();
  // Nor after an error that goes past it. (The open file goes with the process: see TraceWriter.)
  const auto fail = [&] {
    TraceWriter writer(file_name("trace.h5"), header(), {}, communicator);
    writer.begin_step({1, 0.1, 10, {1.0}});
    throw UsageError("something else");
  };
  EXPECT_THROW(fail(), UsageError);
  communicator.barrier();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(Writer, ChecksHeaderAndOptions) {
  const auto with = [&](auto change) {
    TraceHeader changed = header();
    change(changed);
    return refused(changed);
  };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.ranks = 0; }), "0 recorded ranks"));
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.ranks = h.world_size + 1; }), "recorded ranks"));
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.world_size += 1; }), "world_size"));
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.content = {}; }), "nothing to record"));
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.tensors.clear(); }), "no tensors"));
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.tensors[1].name = h.tensors[0].name; }), "two of the tensors"));
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.tensors[1].name = "a/b"; }), "'a/b'"));
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.tensors[1].rows = 0; }), "shape (0, 24)"));
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.tensors[1].input_site = "x"; }), "input site x"));
  EXPECT_TRUE(has(with([](TraceHeader& h) { h.sites[1].width = -1; }), "width -1"));
  const auto option = [&](auto change) {
    TraceWriterOptions options;
    change(options);
    return refused(header(), options);
  };
  EXPECT_TRUE(has(option([](TraceWriterOptions& o) { o.deflate = 10; }), "deflate level 10"));
  EXPECT_TRUE(has(option([](TraceWriterOptions& o) { o.max_write_bytes = 3; }), "max_write_bytes = 3"));
  EXPECT_TRUE(
      has(option([](TraceWriterOptions& o) { o.max_write_bytes = (1 << 30) + 1; }), "max_write_bytes"));
  EXPECT_TRUE(has(option([](TraceWriterOptions& o) { o.chunk_bytes = 0; }), "chunk_bytes = 0"));
  EXPECT_TRUE(has(option([](TraceWriterOptions& o) { o.alignment_bytes = 0; }), "alignment_bytes = 0"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(Writer, ChecksTheOrderOfCalls) {
  TraceHeader one = header();
  one.content = {true, false, false, false};
  one.tensors.resize(2);
  const int rank = communicator.rank();
  TraceWriter writer(file_name("trace.h5"), one, {}, communicator);
  const auto error = [&](auto work) { return error_of<RuntimeError>(work); };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  const HostMatrix<float> w = matrix(37, 24, 5);
  TraceStep step = step_facts(4);
  step.loss = {1.0};
  EXPECT_TRUE(has(error([&] { writer.gradient(0, w); }), "outside a step"));
  EXPECT_TRUE(has(error([&] { writer.end_step(); }), "without begin_step"));
  writer.begin_step(step);
  EXPECT_TRUE(has(error([&] { writer.begin_step(step); }), "within a step"));
  EXPECT_TRUE(has(error([&] { writer.finish(); }), "within a step"));
  EXPECT_TRUE(has(error([&] { writer.input_moment(0, matrix(24, 24, 1), 1); }), "not in the header"));
  EXPECT_TRUE(has(error([&] { writer.gradient(2, w); }), "no gradient of tensor 2 among 2"));
  EXPECT_TRUE(has(error([&] { writer.gradient(0, matrix(24, 37, 1)); }), "(24, 37) instead of (37, 24)"));
  writer.gradient(0, w);
  EXPECT_TRUE(has(error([&] { writer.gradient(0, w); }), "written twice in step 4"));
  EXPECT_TRUE(
      has(error([&] { writer.end_step(); }), "ends without the gradient of model.layers.0.mlp.up_proj"));
  writer.gradient(1, matrix(37, 24, 6));
  writer.end_step();
  EXPECT_TRUE(has(error([&] { writer.begin_step(step); }), "step 4 is negative or was begun before"));
  if (communicator.size() > 1) {
    step = step_facts(5);
    step.loss = {1.0};
    step.learning_rate += rank == 1 ? 1e-9 : 0.0;
    writer.begin_step(step);
    writer.gradient(0, w);
    writer.gradient(1, w);
    EXPECT_TRUE(has(error([&] { writer.end_step(); }), "differ between rank 0 and rank 1"));
  }
}

TEST_F(Writer, WantsOneTestMatrix) {
  if (communicator.size() == 1) return;
  TraceHeader one = header();
  one.content = {false, false, false, true};
  one.sites.resize(1);
  one.tensors.clear();
  TraceWriter writer(file_name("trace.h5"), one, {}, communicator);
  TraceStep step = step_facts(4);
  step.loss = {1.0};
  writer.begin_step(step);
  writer.sketch(0, matrix(24, 3, 1), 1.0, 1.0, matrix(24, 3, communicator.rank() == 1 ? 2 : 1));
  EXPECT_NE(error_of<RuntimeError>([&] {
              writer.end_step();
            }).find("test_matrix of model.layers.0.mlp:input differs"),
            std::string::npos);
}

TEST_F(Writer, NothingGetsLostInATraceOfNonFiniteValues) {
  TraceHeader one = header();
  one.content = {true, false, false, false};
  one.tensors.resize(1);
  {
    TraceWriter writer(file_name("trace.h5"), one, {}, communicator);
    TraceStep step = step_facts(4);
    step.loss = {std::numeric_limits<double>::quiet_NaN()};
    writer.begin_step(step);
    HostMatrix<float> w = matrix(37, 24, 5);
    w(36, 23) = std::numeric_limits<float>::quiet_NaN();
    writer.gradient(0, w);
    writer.end_step();
    writer.finish();
  }
  const TraceReader trace(file_name("trace.h5"));
  EXPECT_TRUE(std::isinf(trace.amax(0, 0, 0)));
  for (const TraceCheck& check : verify_trace(file_name("trace.h5"))) {
    EXPECT_EQ(check.passed, check.name != "finite") << check.name << " " << check.text;
    if (check.name == "finite") {
      EXPECT_NE(check.text.find("step 4: loss of rank 0 is nan"), std::string::npos);
    }
  }
}

TEST_F(Writer, AttributesOfVeryManyRanks) {
  // Beyond the 64 KiB of an object header, where HDF5 stores them elsewhere.
  const std::vector<double> losses(20000, 2.5);
  const std::string path = file_name("many.h5");
  create_parallel_file(path, mpi_communicator(communicator), 1).close("H5Fclose", {path});
  if (is_root()) {
    const Hdf5Handle file = open_serial_file(path, Hdf5Access::change);
    write_attribute({file.get(), {path}}, "loss", losses);
  }
  communicator.barrier();
  const Hdf5Handle file = open_serial_file(path, Hdf5Access::read);
  EXPECT_EQ(read_doubles({file.get(), {path}}, "loss"), losses);
}

TEST(ArraySummaryTest, CountsAndMeasures) {
  const float infinity = std::numeric_limits<float>::infinity();
  ArraySummary none;
  EXPECT_EQ(none.amax(), 0.0f);
  EXPECT_EQ(none.content_hash(), host_content_hash(nullptr, 0));
  std::vector<float> x(10000, -1e-40f);
  x[7777] = -3.5f;
  ArraySummary finite;
  finite.add(x.data(), 5000);
  finite.add(x.data() + 5000, 5000);
  EXPECT_EQ(finite.amax(), 3.5f);
  EXPECT_EQ(finite.non_finite(), 0);
  EXPECT_EQ(finite.content_hash(), host_content_hash(x.data(), 40000));
  x[0] = -infinity;
  x[9999] = std::numeric_limits<float>::quiet_NaN();
  ArraySummary not_finite;
  not_finite.add(x.data(), 10000);
  EXPECT_EQ(not_finite.amax(), infinity);
  EXPECT_EQ(not_finite.non_finite(), 2);
}

}  // namespace
