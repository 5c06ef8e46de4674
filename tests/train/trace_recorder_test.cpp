// What a recorder writes, against the training itself; and that looking on changes nothing.
#include "miniapp/train/trace_recorder.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "miniapp/trace/trace_reader.hpp"
#include "tests/train/fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <unistd.h>

namespace minigift {
namespace {

using test::tiny_deck;
using test::TinyRun;

std::string trace_path(const char* name, Communicator& communicator) {
  return std::filesystem::temp_directory_path() /
         (std::string(name) + "-" + communicator.broadcast_string(std::to_string(getpid()), 0) + ".h5");
}

/// Second moments in FP64, element by element, from the same hooks.
class Oracle final : public StepObserver {
 public:
  explicit Oracle(const ParameterRegistry& registry)
      : inputs(registry.input_sites().size()), outputs(static_cast<std::size_t>(registry.size())) {}
  bool begin_step(std::int64_t step) override { return step == 3; }
  bool observes_inputs() const override { return true; }
  bool observes_outputs() const override { return true; }
  void observe_input(int site, const Matrix<const float>& x) override {
    add(inputs[static_cast<std::size_t>(site)], x);
  }
  void observe_output(int parameter, const Matrix<const float>& dy) override {
    add(outputs[static_cast<std::size_t>(parameter)], dy);
  }
  void gradient_ready(int) override {}
  void end_step(const ObservedStep& observed) override { step = observed; }

  std::vector<HostMatrix<double>> inputs, outputs;  // sums over tokens
  ObservedStep step;

 private:
  static void add(HostMatrix<double>& sum, const Matrix<const float>& x) {
    const HostMatrix<float> host = on_host(x);
    if (sum.size() == 0) sum = HostMatrix<double>("sum", host.extent(1), host.extent(1));
    for (std::size_t r = 0; r < host.extent(0); ++r)
      for (std::size_t i = 0; i < host.extent(1); ++i)
        for (std::size_t j = 0; j < host.extent(1); ++j)
          sum(i, j) += static_cast<double>(host(r, i)) * static_cast<double>(host(r, j));
  }
};

void expect_moment(const HostMatrix<float>& got, const HostMatrix<double>& sum, double factor,
                   const std::string& what) {
  ASSERT_EQ(got.size(), sum.size()) << what;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double expected = factor * sum.data()[i];
    difference += std::pow(static_cast<double>(got.data()[i]) - expected, 2);
    norm += expected * expected;
  }
  EXPECT_LE(std::sqrt(difference / norm), 1e-5) << what;
}

TEST(TraceRecorder, WritesWhatTheStepHad) {
  Communicator communicator;
  const std::string path = trace_path("recorder", communicator);
  const Deck deck = tiny_deck({"trace.file=" + path, "trace.steps=3", "train.micro_batch=1",
                               "trace.content=[\"gradient\",\"input-moment\",\"output-moment\",\"sketch\"]",
                               "trace.sketch_columns=12", "train.steps=4"});
  TinyRun plain(deck, communicator), traced(deck, communicator), watched(deck, communicator);
  TraceRecorder recorder(deck, "fp32", traced.trainer.model().registry(), traced.trainer.model().gradients(),
                         communicator);
  traced.trainer.observe(&recorder);
  Oracle oracle(watched.trainer.model().registry());
  watched.trainer.observe(&oracle);
  std::vector<float> exchanged;
  for (int step = 1; step <= 4; ++step) {
    plain.trainer.step();
    traced.trainer.step();
    watched.trainer.step();
    if (step == 3) exchanged = traced.gradients();
  }
  EXPECT_EQ(plain.parameters(), traced.parameters()) << "tracing changed the training";
  recorder.finish();
  EXPECT_EQ(recorder.steps_written(), 1);

  const TraceReader trace(path);
  const ParameterRegistry& registry = traced.trainer.model().registry();
  EXPECT_EQ(trace.header().tensors.size(), 14u);
  EXPECT_EQ(trace.header().ranks, communicator.size());
  ASSERT_EQ(trace.steps().size(), 1u);
  const TraceStep& step = trace.steps()[0];
  EXPECT_EQ(step.step, 3);
  EXPECT_EQ(step.tokens_per_rank, 24 / communicator.size() * 32);
  const int rank = communicator.rank();
  EXPECT_EQ(step.loss[static_cast<std::size_t>(rank)], oracle.step.local_loss);

  for (std::size_t t = 0; t < trace.header().tensors.size(); ++t) {
    const TraceTensor& tensor = trace.header().tensors[t];
    const Parameter& parameter = registry[registry.find(tensor.name)];
    // The FP32 exchange hands the optimizer the mean of the local gradients.
    double difference = 0, norm = 0;
    for (std::int64_t i = 0; i < parameter.size(); ++i) {
      double mean = 0;
      for (int r = 0; r < communicator.size(); ++r)
        mean +=
            static_cast<double>(trace.gradient(0, static_cast<int>(t), r).data()[i]) / communicator.size();
      difference +=
          std::pow(mean - static_cast<double>(exchanged[static_cast<std::size_t>(parameter.offset + i)]), 2);
      norm += mean * mean;
      if (i > 200) break;
    }
    EXPECT_LE(std::sqrt(difference / norm), 1e-6) << tensor.name;
    const double tokens = trace.output_tokens(0, static_cast<int>(t), rank);
    EXPECT_EQ(tokens, static_cast<double>(step.tokens_per_rank));
    // d = tokens * dy, and the mean over tokens: tokens^2 / tokens.
    expect_moment(trace.output_moment(0, static_cast<int>(t), rank),
                  oracle.outputs[static_cast<std::size_t>(registry.find(tensor.name))], tokens, tensor.name);
  }
  for (std::size_t s = 0; s < trace.header().sites.size(); ++s) {
    const auto site = static_cast<int>(s);
    const auto& sum = oracle.inputs[static_cast<std::size_t>(s)];  // the first sites are the decoder layers'
    const double tokens = trace.input_tokens(0, site, rank);
    expect_moment(trace.input_moment(0, site, rank), sum, 1.0 / tokens, trace.header().sites[s].name);
    // The sketch is the moment times its test matrix.
    const TraceSketch sketch = trace.sketch(0, site, rank);
    double difference = 0, norm = 0, diagonal = 0;
    for (std::size_t i = 0; i < sketch.y.extent(0); ++i) {
      diagonal += sum(i, i);
      for (std::size_t k = 0; k < sketch.y.extent(1); ++k) {
        double expected = 0;
        for (std::size_t j = 0; j < sum.extent(1); ++j)
          expected += sum(i, j) * static_cast<double>(sketch.test_matrix(j, k));
        difference += std::pow(static_cast<double>(sketch.y(i, k)) - expected, 2);
        norm += expected * expected;
      }
    }
    EXPECT_LE(std::sqrt(difference / norm), 1e-5);
    EXPECT_NEAR(sketch.trace_sum / diagonal, 1.0, 1e-5);
    EXPECT_EQ(sketch.tokens, tokens);
  }
  communicator.barrier();
  if (rank == 0) std::filesystem::remove(path);
}

TEST(TraceRecorder, LargerBatchesAndFewerRanksInTracedSteps) {
  Communicator communicator;
  const std::string path = trace_path("recorder-batch", communicator);
  const Deck deck =
      tiny_deck({"trace.file=" + path, "trace.steps=2", "trace.ranks=1", "trace.global_batch=48",
                 "trace.tensors=mlp", "trace.content=gradient", "train.steps=2"});
  TinyRun run(deck, communicator);
  TraceRecorder recorder(deck, "fp32", run.trainer.model().registry(), run.trainer.model().gradients(),
                         communicator);
  run.trainer.observe(&recorder);
  const StepRow first = run.trainer.step(), second = run.trainer.step();
  EXPECT_FALSE(first.skipped || second.skipped);
  EXPECT_TRUE(run.trainer.replicas_identical());
  recorder.finish();
  const TraceReader trace(path);
  EXPECT_EQ(trace.header().ranks, 1);
  EXPECT_EQ(trace.header().world_size, communicator.size());
  EXPECT_EQ(trace.header().tensors.size(), 6u);
  EXPECT_EQ(trace.steps()[0].tokens_per_rank, 48 / communicator.size() * 32);
  EXPECT_EQ(trace.steps()[0].loss.size(), 1u);
  communicator.barrier();
  if (communicator.rank() == 0) std::filesystem::remove(path);
}

TEST(TraceRecorder, WordsChooseTensorsAndWrongOnesAreNamed) {
  const ParameterRegistry registry(llama_shape(tiny_deck().model));
  EXPECT_EQ(traced_tensors({"all"}, registry).size(), 14u);
  EXPECT_EQ(traced_tensors({"mlp"}, registry).size(), 6u);
  EXPECT_EQ(traced_tensors({"attention"}, registry).size(), 8u);
  EXPECT_EQ(traced_tensors({"mlp", "*.1.mlp.down_proj.weight"}, registry).size(), 6u);
  const auto message = [&](const std::string& word) {
    try {
      traced_tensors({word}, registry);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("*.no_such").find("chooses no tensor"), std::string::npos);
  EXPECT_NE(message("lm_head.weight").find("no matrix of a decoder layer"), std::string::npos);
}

}  // namespace
}  // namespace minigift
