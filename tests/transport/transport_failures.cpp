// A program that fails in the way named by its argument. tests/transport/CMakeLists.txt checks status and
// output.
#include "kernels/error.hpp"
#include "miniapp/transport/communicator.hpp"
#include "miniapp/transport/mpi_environment.hpp"
#include "miniapp/transport/watchdog.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace {

using namespace minigift;

void gather(Communicator& communicator) {
  const Vector<std::uint8_t> mine("mine", 40);
  const Vector<std::uint8_t> all("all", 40 * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(mine, all, 40).wait();
}

/// Rank 1 comes much too late.
void sleep(Communicator& communicator) {
  communicator.barrier();
  if (communicator.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(60));
  gather(communicator);
}

/// Rank 1 leaves out one operation: it waits in the barrier, the others in the all-gather before.
void skip(Communicator& communicator) {
  gather(communicator);
  if (communicator.rank() != 1) gather(communicator);
  communicator.barrier();
}

/// Rank 1 starts an operation, but never advances it.
void stuck(Communicator& communicator) {
  const Vector<std::uint8_t> codes("codes", std::size_t{1} << 24);
  Request request = communicator.native_all_reduce(Format::fp32, codes);
  if (communicator.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(60));
  request.wait();
}

/// Rank 3 comes much too late to a collective of ranks 2 and 3 alone; ranks 0 and 1 wait for both in the
/// whole. (They must not wait in MPI_Finalize: Open MPI 4's mpirun then crashes or hangs when it is told to
/// abort.)
void group(Communicator& communicator) {
  const int node = communicator.rank() / 2;
  const auto pair = communicator.split(node, 0, "node " + std::to_string(node));
  pair->barrier();
  if (communicator.rank() == 3) std::this_thread::sleep_for(std::chrono::seconds(60));
  gather(*pair);
  communicator.barrier();
}

/// The host waits for the device: what is in flight there is given up before all ranks are aborted.
void device() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Watchdog watchdog(MPI_COMM_WORLD, 1.0);
  watchdog.before_abort([] { std::fputs("device work given up\n", stderr); });
  const Watchdog::Wait wait(watchdog, {"all_reduce_max", 7, 120, rank});
  for (int look = 0; look < 6000; ++look) {
    wait.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// An error that only one rank knows of leaves main.
void fail(Communicator& communicator) {
  communicator.barrier();
  if (communicator.rank() == 1) throw RuntimeError("only here");
  communicator.barrier();
}

void run(int argc, char** argv) {
  const MpiEnvironment environment(argc, argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  CommunicatorOptions options;
  options.watchdog_seconds = 1.5;
  // Off, so that the fault itself is met, and not the comparison before it.
  options.check_signatures = false;
  Communicator communicator(options);
  const std::string scenario = argc > 1 ? argv[1] : "";
  if (scenario == "sleep") sleep(communicator);
  if (scenario == "skip") skip(communicator);
  if (scenario == "stuck") stuck(communicator);
  if (scenario == "group") group(communicator);
  if (scenario == "device") device();
  if (scenario == "throw") fail(communicator);
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
