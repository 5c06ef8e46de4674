#pragma once
// A small run's trace: shapes that divide into nothing, values that depend on (step, array, rank, element)
// alone.

#include "miniapp/trace/trace_reader.hpp"
#include "miniapp/trace/trace_writer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace minigift::test {

inline TraceHeader small_header(int world_size, int ranks) {
  TraceHeader header;
  header.program_version = "0.1.0";
  header.git_commit = "0123456789abcdef";
  header.created_utc = "2026-01-31T12:34:56Z";
  header.model = "llama of 2 layers";
  header.deck = "[model]\nlayers = 2  # ä, and a line more\n";
  header.method = "fp32";
  header.world_size = world_size;
  header.ranks = ranks;
  header.content = {true, true, true, true};
  header.tensors = {
      {"model.layers.0.mlp.gate_proj.weight", "mlp_gate", 0, 37, 24, "model.layers.0.mlp:input"},
      {"model.layers.0.mlp.up_proj.weight", "mlp_up", 0, 37, 24, "model.layers.0.mlp:input"},
      {"model.layers.1.mlp.down_proj.weight", "mlp_down", 1, 24, 301, "model.layers.1.down:input"},
      {"one.row", "norm", -1, 1, 5, ""}};
  header.sites = {{"model.layers.0.mlp:input", 0, 24}, {"model.layers.1.down:input", 1, 301}};
  return header;
}

/// Any bits but NaN: subnormals, negative zeros and large values among them.
inline float value(std::uint64_t seed, std::int64_t element) {
  std::uint64_t z = seed * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(element) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 31)) * 0x94D049BB133111EBu;
  const auto bits = static_cast<std::uint32_t>(z >> 32);
  return std::bit_cast<float>((bits & 0x7F800000u) == 0x7F800000u ? bits & 0x80FFFFFFu : bits);
}

inline HostMatrix<float> matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  HostMatrix<float> result("matrix", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < rows * columns; ++i)
    result.data()[i] = value(seed, i);
  return result;
}

inline std::uint64_t seed_of(std::int64_t step, int kind, int owner, int rank) {
  return static_cast<std::uint64_t>(((step * 8 + kind) * 64 + owner) * 1024 + rank + 1);
}

inline constexpr std::int64_t sketch_columns = 7;

inline TraceStep step_facts(std::int64_t step) {
  return {step, 0.001 * static_cast<double>(step + 1), 4096 + step, {}};
}
inline double loss_of(std::int64_t step, int rank) {
  return 10.0 / static_cast<double>(step + 1) + 0.125 * rank;
}
inline double tokens_of(int rank) {
  return 100.0 + rank;
}

/// Writes what `header.content` asks for.
inline void write_step(TraceWriter& writer, const TraceHeader& header, std::int64_t step, int rank) {
  const bool recorded = rank < header.ranks;
  const auto make = [&](std::int64_t rows, std::int64_t columns, int kind, int owner, int source) {
    return recorded ? matrix(rows, columns, seed_of(step, kind, owner, source)) : HostMatrix<float>();
  };
  TraceStep facts = step_facts(step);
  facts.loss = {loss_of(step, rank)};
  writer.begin_step(facts);
  for (int i = 0; i < static_cast<int>(header.tensors.size()); ++i) {
    const TraceTensor& tensor = header.tensors[static_cast<std::size_t>(i)];
    if (header.content.gradient) writer.gradient(i, make(tensor.rows, tensor.columns, 0, i, rank));
    if (header.content.output_moment)
      writer.output_moment(i, make(tensor.rows, tensor.rows, 1, i, rank), tokens_of(rank));
  }
  for (int i = 0; i < static_cast<int>(header.sites.size()); ++i) {
    const std::int64_t width = header.sites[static_cast<std::size_t>(i)].width;
    if (header.content.input_moment) writer.input_moment(i, make(width, width, 2, i, rank), tokens_of(rank));
    if (header.content.sketch)
      writer.sketch(i, make(width, sketch_columns, 3, i, rank), 3.0 + rank, tokens_of(rank),
                    make(width, sketch_columns, 4, i, 0));
  }
  writer.end_step();
}

inline void expect_same_bits(const HostMatrix<float>& found, const HostMatrix<float>& expected,
                             const std::string& what) {
  ASSERT_EQ(found.extent(0), expected.extent(0)) << what;
  ASSERT_EQ(found.extent(1), expected.extent(1)) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found.data()[i]), std::bit_cast<std::uint32_t>(expected.data()[i]))
        << what << ", element " << i;
  }
}

/// Everything in the trace is what write_step wrote.
inline void expect_trace(const TraceReader& trace, const TraceHeader& header,
                         const std::vector<std::int64_t>& steps) {
  ASSERT_EQ(trace.steps().size(), steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const TraceStep facts = step_facts(steps[s]);
    EXPECT_EQ(trace.steps()[s].step, facts.step);
    EXPECT_EQ(trace.steps()[s].learning_rate, facts.learning_rate);
    EXPECT_EQ(trace.steps()[s].tokens_per_rank, facts.tokens_per_rank);
    ASSERT_EQ(trace.steps()[s].loss.size(), static_cast<std::size_t>(header.ranks));
    for (int rank = 0; rank < header.ranks; ++rank) {
      const auto made = [&](std::int64_t rows, std::int64_t columns, int kind, int owner, int source) {
        return matrix(rows, columns, seed_of(steps[s], kind, owner, source));
      };
      EXPECT_EQ(trace.steps()[s].loss[static_cast<std::size_t>(rank)], loss_of(steps[s], rank));
      for (int i = 0; i < static_cast<int>(header.tensors.size()); ++i) {
        const TraceTensor& tensor = header.tensors[static_cast<std::size_t>(i)];
        const std::string what = fmt::format("step {} {} rank {}", steps[s], tensor.name, rank);
        if (header.content.gradient) {
          const HostMatrix<float> expected = made(tensor.rows, tensor.columns, 0, i, rank);
          expect_same_bits(trace.gradient(s, i, rank), expected, what);
          float amax = 0.0f;
          for (std::size_t e = 0; e < expected.size(); ++e)
            amax = std::max(amax, std::abs(expected.data()[e]));
          EXPECT_EQ(trace.amax(s, i, rank), amax) << what;
        }
        if (header.content.output_moment) {
          expect_same_bits(trace.output_moment(s, i, rank), made(tensor.rows, tensor.rows, 1, i, rank), what);
          EXPECT_EQ(trace.output_tokens(s, i, rank), tokens_of(rank));
        }
      }
      for (int i = 0; i < static_cast<int>(header.sites.size()); ++i) {
        const TraceSite& site = header.sites[static_cast<std::size_t>(i)];
        const std::string what = fmt::format("step {} {} rank {}", steps[s], site.name, rank);
        if (header.content.input_moment) {
          expect_same_bits(trace.input_moment(s, i, rank), made(site.width, site.width, 2, i, rank), what);
          EXPECT_EQ(trace.input_tokens(s, i, rank), tokens_of(rank));
        }
        if (header.content.sketch) {
          const TraceSketch sketch = trace.sketch(s, i, rank);
          expect_same_bits(sketch.y, made(site.width, sketch_columns, 3, i, rank), what);
          expect_same_bits(sketch.test_matrix, made(site.width, sketch_columns, 4, i, 0), what);
          EXPECT_EQ(sketch.trace_sum, 3.0 + rank);
          EXPECT_EQ(sketch.tokens, tokens_of(rank));
        }
      }
    }
  }
}

/// A communicator, and a folder of this test's own, the same on all ranks, gone afterwards.
class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = communicator.broadcast_string(
        (std::filesystem::temp_directory_path() / fmt::format("minigift-trace-test-{}", getpid())).string(),
        0);
    if (is_root()) std::filesystem::create_directories(folder);
    communicator.barrier();
  }
  void TearDown() override {
    communicator.barrier();
    if (is_root()) std::filesystem::remove_all(folder);
  }
  std::string file_name(const std::string& name) const { return folder + "/" + name; }
  bool is_root() const { return communicator.rank() == 0; }
  TraceHeader header() const { return small_header(communicator.size(), communicator.size()); }

  /// Collective.
  void write(const std::string& path, const TraceHeader& trace_header, const TraceWriterOptions& options,
             const std::vector<std::int64_t>& steps) {
    TraceWriter writer(path, trace_header, options, communicator);
    for (const std::int64_t step : steps)
      write_step(writer, trace_header, step, communicator.rank());
    EXPECT_FALSE(std::filesystem::exists(path));
    writer.finish();
  }

  static CommunicatorOptions quick() {
    CommunicatorOptions options;
    options.self_test = false;
    return options;
  }

  Communicator communicator{quick()};
  std::string folder;
};

/// The text of the error that `work` throws; empty if it throws none of this kind.
template <class Error, class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace minigift::test
