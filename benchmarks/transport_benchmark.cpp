// The ring of native_all_reduce beside MPI_Allreduce, and all_to_all beside MPI_Alltoall, for the same bytes:
//
//   mpirun -n 2 transport_benchmark [largest buffer in MiB, default 64]
//
// The contestants take turns, so that a disturbance of the machine meets all, and each starts from a buffer
// that its own rank has just written, as an encoder would: data that lie modified in another core's cache
// travel several times slower than clean ones. A time is the maximum over the ranks of one repetition, then
// the median over the repetitions. busbw = 2 (N-1)/N * bytes / time is what each rank sends per second (as
// nccl-tests defines it); a2a moves half of that.
#include "miniapp/transport/communicator.hpp"
#include "miniapp/transport/mpi_environment.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace minigift;

struct Contestant {
  const char* name;
  std::function<void()> run;
  std::vector<double> seconds;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(Communicator& communicator, const Vector<std::uint8_t>& input,
             std::vector<Contestant>& contestants, int repetitions) {
  for (int repetition = -2; repetition < repetitions; ++repetition) {  // two warm-up rounds
    for (Contestant& contestant : contestants) {
      Kokkos::deep_copy(input, std::uint8_t{0});  // zeros: adding them neither overflows nor changes speed
      communicator.barrier();
      const double start = MPI_Wtime();
      contestant.run();
      const double seconds = communicator.max_over_ranks(MPI_Wtime() - start);
      if (repetition >= 0) contestant.seconds.push_back(seconds);
    }
  }
}

void compare(Communicator& communicator, std::int64_t bytes) {
  const int ranks = communicator.size();
  const std::int64_t per_peer = bytes / ranks;
  const Vector<std::uint8_t> a("a", static_cast<std::size_t>(per_peer * ranks));
  const Vector<std::uint8_t> b("b", static_cast<std::size_t>(per_peer * ranks));
  const auto floats = static_cast<int>(per_peer * ranks / 4);
  std::vector<Contestant> contestants = {
      {"ring fp32", [&] { communicator.native_all_reduce(Format::fp32, a).wait(); }, {}},
      {"MPI_Allreduce",
       [&] { MPI_Allreduce(MPI_IN_PLACE, a.data(), floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); },
       {}},
      {"ring bf16", [&] { communicator.native_all_reduce(Format::bf16, a).wait(); }, {}},
      {"ring e4m3", [&] { communicator.native_all_reduce(Format::e4m3, a).wait(); }, {}},
      {"all_to_all", [&] { communicator.all_to_all(a, b, per_peer).wait(); }, {}},
      {"MPI_Alltoall",
       [&] {
         MPI_Alltoall(a.data(), static_cast<int>(per_peer), MPI_BYTE, b.data(), static_cast<int>(per_peer),
                      MPI_BYTE, MPI_COMM_WORLD);
       },
       {}},
  };
  measure(communicator, a, contestants, bytes < (1 << 22) ? 51 : 15);
  if (communicator.rank() != 0) return;
  for (const Contestant& contestant : contestants) {
    const double seconds = median(contestant.seconds);
    std::printf("%12lld  %-14s %12.1f %12.1f %10.3f\n", static_cast<long long>(bytes), contestant.name,
                seconds * 1e6, *std::min_element(contestant.seconds.begin(), contestant.seconds.end()) * 1e6,
                2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / seconds / 1e9);
  }
}

void run(int argc, char** argv) {
  const MpiEnvironment environment(argc, argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const double start = MPI_Wtime();
  Communicator communicator;
  const double set_up = communicator.max_over_ranks(MPI_Wtime() - start);
  const std::int64_t largest = (argc > 1 ? std::stoll(argv[1]) : 64) << 20;
  if (communicator.rank() == 0) {
    std::printf("%s\nset-up with self test: %.1f ms\n", communicator.description().c_str(), set_up * 1e3);
    std::printf("%12s  %-14s %12s %12s %10s\n", "bytes", "operation", "median us", "minimum us",
                "busbw GB/s");
  }
  for (std::int64_t bytes = 1 << 16; bytes <= largest; bytes *= 4)
    compare(communicator, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
