#include "miniapp/transport/mpi_main.hpp"

#include "kernels/error.hpp"
#include "miniapp/transport/launcher.hpp"
#include "miniapp/transport/mpi_environment.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace minigift {
namespace {

void print_error(const char* program, const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "{}: {}\n", program, text);
  std::fflush(stderr);
}

}  // namespace

int mpi_main(const char* program, int argc, char** argv, const std::function<int(int rank)>& run) {
  try {
    MpiEnvironment mpi(argc, argv);
    int rank = 0, world = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    try {
      check_world_size(world);
      return run(rank);
    } catch (const UsageError& error) {
      if (rank == 0) print_error(program, error.what());
      return 2;
    } catch (const std::exception& error) {
      if (rank != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
      print_error(program, rank == 0 ? error.what() : fmt::format("rank {}: {}", rank, error.what()));
      mpi.abort(1);
    }
  } catch (const std::exception& error) {  // MPI did not start
    print_error(program, error.what());
  }
  return 1;
}

}  // namespace minigift
