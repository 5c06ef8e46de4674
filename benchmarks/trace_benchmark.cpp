// Writes one trace of synthetic gradients and says how long that took:
//   mpirun -n 2 trace_benchmark FILE MIB_PER_RANK [DEFLATE [CHUNK_BYTES]]
// The time is that of everything a run pays: constructor, one step of gradients, end_step, finish with the
// data on the disk. One line: ranks, bytes, seconds, bytes in the file. trace_against_dd.sh compares it with
// dd.

#include "kernels/error.hpp"
#include "miniapp/trace/trace_writer.hpp"
#include "miniapp/transport/kokkos_run.hpp"
#include "miniapp/transport/mpi_main.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>

namespace {

using namespace minigift;

/// The shape of a down projection of llama-300m.
constexpr std::int64_t rows = 1024;
constexpr std::int64_t columns = 2688;

HostMatrix<float> normal_gradient(int rank) {
  HostMatrix<float> w("w", rows, columns);
  std::mt19937 generator(static_cast<unsigned>(rank));
  std::normal_distribution<float> normal(0.0f, 1e-4f);
  for (std::int64_t i = 0; i < rows * columns; ++i)
    w.data()[i] = normal(generator);
  return w;
}

TraceHeader header_of(int ranks, std::int64_t tensors) {
  TraceHeader header;
  header.program_version = "benchmark";
  header.world_size = ranks;
  header.ranks = ranks;
  header.content.gradient = true;
  for (std::int64_t i = 0; i < tensors; ++i)
    header.tensors.push_back(
        {fmt::format("model.layers.{}.mlp.down_proj.weight", i), "mlp_down", i, rows, columns, ""});
  return header;
}

int run(int argc, char** argv) {
  require_usage(argc >= 3, "usage: trace_benchmark FILE MIB_PER_RANK [DEFLATE [CHUNK_BYTES]]");
  const std::string path = argv[1];
  const KokkosRun kokkos(std::vector<char*>{argv[0]});
  Communicator communicator;
  const std::int64_t tensor_bytes = 4 * rows * columns;
  const std::int64_t tensors = std::max<std::int64_t>((std::stoll(argv[2]) << 20) / tensor_bytes, 1);
  TraceWriterOptions options;
  if (argc > 3) options.deflate = std::stoi(argv[3]);
  options.shuffle = options.deflate > 0;
  if (argc > 4) options.chunk_bytes = std::stoll(argv[4]);
  const HostMatrix<float> w = normal_gradient(communicator.rank());

  communicator.barrier();
  const auto start = std::chrono::steady_clock::now();
  TraceWriter writer(path, header_of(communicator.size(), tensors), options, communicator);
  writer.begin_step({1, 1e-3, 4096, {1.0}});
  for (std::int64_t i = 0; i < tensors; ++i)
    writer.gradient(static_cast<int>(i), w);
  writer.end_step();
  writer.finish();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const double seconds = communicator.max_over_ranks(elapsed.count());
  if (communicator.rank() == 0)
    fmt::print("ranks {} bytes {} seconds {:.4f} file {}\n", communicator.size(),
               communicator.size() * tensors * tensor_bytes, seconds, std::filesystem::file_size(path));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return minigift::mpi_main("trace_benchmark", argc, argv, [&](int) { return run(argc, argv); });
}
