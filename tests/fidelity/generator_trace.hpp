#pragma once
// A trace of the synthetic gradient (tests/kernels/gradient_generator.hpp): one layer, one step, any number
// of ranks, each with tokens of its own.

#include "kernels/device/memory.hpp"
#include "kernels/geometry/dense.hpp"
#include "miniapp/trace/trace_writer.hpp"
#include "tests/kernels/gradient_generator.hpp"

#include <filesystem>
#include <string>

namespace minigift::test {

inline HostMatrix<float> host_moment(const Matrix<const float>& x) {
  const HostMatrix<double> moment = on_host(second_moment(x));
  HostMatrix<float> result("moment", moment.extent(0), moment.extent(1));
  for (std::size_t i = 0; i < moment.size(); ++i)
    result.data()[i] = static_cast<float>(moment.data()[i]);
  return result;
}

/// Writes the trace and returns its path, the same on all ranks.
inline std::string write_generated_trace(const std::string& name, GradientOptions options,
                                         Communicator& communicator) {
  const std::string path = std::filesystem::temp_directory_path() /
                           (name + "-" + communicator.broadcast_string(std::to_string(getpid()), 0) + ".h5");
  TraceHeader header;
  header.model = "synthetic";
  header.method = "none";
  header.world_size = header.ranks = communicator.size();
  header.content = {.gradient = true, .input_moment = true, .output_moment = true, .sketch = false};
  header.tensors = {{"layer", "mlp_down", 0, options.d_out, options.d_in, "layer:input"}};
  header.sites = {{"layer:input", 0, options.d_in}};
  options.tokens /= communicator.size();
  options.token_seed += static_cast<std::uint64_t>(1000 * communicator.rank());
  const GeneratedGradient generated = generate_gradient(options);
  TraceWriter writer(path, header, {}, communicator);
  writer.begin_step({.step = 1, .learning_rate = 0, .tokens_per_rank = options.tokens, .loss = {0.0}});
  const auto tokens = static_cast<double>(options.tokens);
  writer.gradient(0, on_host(generated.gradient));
  writer.input_moment(0, host_moment(generated.inputs), tokens);
  writer.output_moment(0, host_moment(generated.output_gradients), tokens);
  writer.end_step();
  writer.finish();
  return path;
}

}  // namespace minigift::test
