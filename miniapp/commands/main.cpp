// minigift COMMAND: the program's entry point. Exit status: 0 valid result, 1 invalid result or failure at
// run time, 2 usage or deck, 3 regression found (a later command).

#include "kernels/error.hpp"
#include "miniapp/commands/train.hpp"
#include "miniapp/report/environment.hpp"
#include "miniapp/transport/launcher.hpp"
#include "miniapp/transport/mpi_environment.hpp"

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

namespace minigift {
namespace {

std::string version_text() {
  return fmt::format("minigift {} (git {}{})", MINIGIFT_VERSION, build_git_commit(),
                     build_git_dirty() ? ", changed" : "");
}

/// Parses the command line and runs the command. Only rank 0 prints help and usage errors.
int run(int argc, char** argv, int rank) {
  CLI::App app{"Mini-app and benchmark suite for low-precision gradient communication in LLM pretraining"};
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  TrainArguments train;
  train.command_line.assign(argv, argv + argc);
  add_train_command(app, train);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    if (rank == 0) app.exit(done);
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{} (see minigift --help)", error.what()));
  }
  if (train.print_help_deck) {
    if (rank == 0) print_deck_help(train.markdown);
    return 0;
  }
  return run_train(train);
}

}  // namespace
}  // namespace minigift

int main(int argc, char** argv) {
  using namespace minigift;
  int rank = 0;
  const auto report = [&rank](const std::exception& error) {
    if (rank == 0) fmt::print(stderr, "minigift: {}\n", error.what());
  };
  try {
    MpiEnvironment mpi(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int world = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    try {
      check_world_size(world);
      Kokkos::ScopeGuard kokkos(argc, argv);
      return run(argc, argv, rank);
    } catch (const UsageError& error) {
      // Agreed upon by all ranks, or the same on all of them: nobody waits for this one.
      report(error);
      return 2;
    }
  } catch (const std::exception& error) {
    if (rank == 0) report(error);
    return 1;
  }
}
