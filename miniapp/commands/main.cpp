// minigift COMMAND: the program's entry point. Exit status: 0 valid result, 1 invalid result or failure at
// run time, 2 usage or deck, 3 regression found.

#include "kernels/error.hpp"
#include "miniapp/commands/comm.hpp"
#include "miniapp/commands/compare.hpp"
#include "miniapp/commands/fidelity.hpp"
#include "miniapp/commands/profile.hpp"
#include "miniapp/commands/step.hpp"
#include "miniapp/commands/trace.hpp"
#include "miniapp/commands/train.hpp"
#include "miniapp/report/environment.hpp"
#include "miniapp/transport/kokkos_run.hpp"
#include "miniapp/transport/mpi_main.hpp"

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include <string>
#include <string_view>
#include <vector>

namespace minigift {
namespace {

std::string version_text() {
  return fmt::format("minigift {} (git {}{})", program_version(), build_git_commit(),
                     build_git_dirty() ? ", changed" : "");
}

/// Kokkos reads its own options, --kokkos-..., and would print its own help for --help: it gets those alone,
/// the command line parser the others.
struct SplitArguments {
  std::vector<char*> kokkos;
  std::vector<char*> own;
};

SplitArguments split_arguments(int argc, char** argv) {
  SplitArguments split;
  for (int i = 0; i < argc; ++i) {
    const bool is_kokkos = std::string_view(argv[i]).starts_with("--kokkos");
    if (i == 0 || is_kokkos) split.kokkos.push_back(argv[i]);
    if (!is_kokkos) split.own.push_back(argv[i]);
  }
  return split;
}

/// Parses the command line and runs the command. Only rank 0 prints help and usage errors.
int run(int argc, char** argv, int rank) {
  SplitArguments split = split_arguments(argc, argv);
  CLI::App app{"Mini-app and benchmark suite for low-precision gradient communication in LLM pretraining"};
  app.set_version_flag("--version", version_text());
  app.footer(
      "Options of Kokkos begin with --kokkos (--kokkos-help). Exit status: 0 valid result, 1 invalid result "
      "or\n"
      "failure at run time, 2 usage or deck, 3 regression found.");
  app.require_subcommand(1);
  app.fallthrough();
  bool share_gpu = false;
  app.add_flag("--share-gpu", share_gpu,
               "Let several ranks use one GPU, to try things out; gradients then travel through host memory");
  TrainArguments train;
  train.command_line.assign(argv, argv + argc);
  add_train_command(app, train);
  StepArguments step;
  step.command_line = train.command_line;
  add_step_command(app, step);
  CommArguments comm;
  comm.command_line = train.command_line;
  add_comm_command(app, comm);
  FidelityArguments fidelity;
  fidelity.command_line = train.command_line;
  add_fidelity_command(app, fidelity);
  ProfileArguments profile;
  profile.command_line = train.command_line;
  add_profile_command(app, profile);
  TraceArguments trace;
  add_trace_command(app, trace);
  CompareArguments compare;
  add_compare_command(app, compare);
  try {
    app.parse(static_cast<int>(split.own.size()), split.own.data());
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
  if (fidelity.list) {
    if (rank == 0) print_fidelity_list();
    return 0;
  }
  train.share_gpu = step.share_gpu = comm.share_gpu = fidelity.share_gpu = profile.share_gpu = share_gpu;
  const KokkosRun kokkos(split.kokkos);
  if (app.got_subcommand("step")) return run_step(step);
  if (app.got_subcommand("comm")) return run_comm(comm);
  if (app.got_subcommand("fidelity")) return run_fidelity(fidelity);
  if (app.got_subcommand("profile")) return run_profile(profile);
  if (app.got_subcommand("compare")) return rank == 0 ? run_compare(compare) : 0;  // as well
  if (app.got_subcommand("trace")) return rank == 0 ? run_trace(trace) : 0;        // reads on one rank
  return run_train(train);
}

}  // namespace
}  // namespace minigift

int main(int argc, char** argv) {
  return minigift::mpi_main("minigift", argc, argv,
                            [&](int rank) { return minigift::run(argc, argv, rank); });
}
