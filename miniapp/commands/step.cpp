#include "miniapp/commands/step.hpp"

#include "kernels/error.hpp"
#include "miniapp/commands/figures.hpp"
#include "miniapp/commands/run_report.hpp"
#include "miniapp/commands/setup.hpp"
#include "miniapp/commands/step_report.hpp"
#include "miniapp/deck/raw_value.hpp"
#include "miniapp/report/csv_file.hpp"
#include "miniapp/report/results_folder.hpp"
#include "miniapp/step/make_compute.hpp"
#include "miniapp/step/step_benchmark.hpp"
#include "miniapp/step/step_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace minigift {

void add_step_command(CLI::App& app, StepArguments& arguments) {
  CLI::App* command = app.add_subcommand("step",
                                         "Time the transformer step with each gradient exchange method, in "
                                         "turns: synthetic tokens, no convergence");
  command->add_option("deck", arguments.deck, "Input deck (TOML), e.g. inputs/studies/smoke.toml")
      ->required();
  command
      ->add_option(
          "--set", arguments.overrides,
          "Override a deck value, e.g. --set step.iterations=50 (repeatable); minigift train --help-deck "
          "lists them all")
      ->take_all();
  command->add_option("--out", arguments.output,
                      "New folder for run.json, steps.csv and figures (same as output.directory)");
  command->add_option("--replay", arguments.replay,
                      "HDF5 trace whose gradients are replayed (same as step.trace)");
  add_keep_option(*command, arguments.keep);
  command->add_flag("--print-deck", arguments.print_deck,
                    "Print the effective deck (defaults, deck and overrides together) and stop");
}

namespace {

/// Weak scaling: the global batch follows the ranks.
void scale_batch(Deck& deck, int ranks) {
  if (deck.step.batch_per_rank > 0) deck.train.global_batch = deck.step.batch_per_rank * ranks;
}

void check_step(const Deck& deck, const Communicator& communicator) {
  const auto& [slow_phase, slow_percent, fault, fault_rank, hang, hang_rank] = deck.inject;
  if (!slow_phase.empty()) {
    std::vector<std::string> names(phase_names.begin(), phase_names.end());
    names.pop_back();  // "other" is no region
    require_usage(std::find(names.begin(), names.end(), slow_phase) != names.end(),
                  "inject.slow_phase = \"{}\" is no phase{}; phases: {}", slow_phase,
                  nearest_name(slow_phase, names), fmt::join(names, ", "));
  }
  require_usage(fault == FaultPlace::none || fault_rank < communicator.size(),
                "inject.fault_rank = {}: there are ranks 0 to {}", fault_rank, communicator.size() - 1);
  require_usage(hang == HangChoice::none || hang_rank < communicator.size(),
                "inject.hang_rank = {}: there are ranks 0 to {}", hang_rank, communicator.size() - 1);
  check_methods(deck, communicator);
}

std::string case_name(const Deck& deck, int ranks) {
  return fmt::format("step-{}-{}-{}-r{}", deck.model.name, name_of(deck.step.workload),
                     name_of(deck.step.compute), ranks);
}

nlohmann::ordered_json comparable_step(const Setup& setup, const MethodDeck& method,
                                       const StepCompute& compute) {
  const Deck& deck = setup.deck;
  nlohmann::ordered_json comparable = comparable_place(setup, "step");
  add_comparable_model(deck, comparable);
  comparable["parameters"] = compute.registry().total();
  comparable["workload"] = name_of(deck.step.workload);
  comparable["compute"] = name_of(deck.step.compute);
  comparable["scaling"] = deck.step.batch_per_rank > 0 ? "weak" : "strong";
  comparable["gradients"] = compute.gradients_identity();
  add_comparable_method(setup, method, comparable);
  return comparable;
}

}  // namespace

int run_step(const StepArguments& arguments) {
  const std::string started = utc_now();
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.replay.empty())
    overrides.push_back(fmt::format("step.trace={}", toml_string(arguments.replay)));
  Setup setup = set_up(arguments.deck, overrides, arguments.output, arguments.share_gpu, scale_batch);
  const Deck& deck = setup.deck;
  Communicator& communicator = *setup.communicator;
  const bool root = communicator.rank() == 0;
  if (arguments.print_deck) {
    if (root) fmt::print("{}", to_text(deck));
    return 0;
  }
  communicator.together([&] { check_step(deck, communicator); });
  std::unique_ptr<CsvFile<IterationRow>> file;
  communicator.together([&] {
    if (!root || deck.output.directory.empty()) return;
    create_results_folder(deck.output.directory);
    file = std::make_unique<CsvFile<IterationRow>>(deck.output.directory + "/steps.csv");
  });

  RegionTimer timer;
  if (!deck.inject.slow_phase.empty())
    timer.slow_down(deck.inject.slow_phase, 0.01 * deck.inject.slow_percent);
  StepProgress progress(root, deck);
  print_run_header(setup, "step");
  const std::unique_ptr<StepCompute> compute = make_step_compute(deck, communicator, timer);
  progress.header(setup, *compute);
  StepBenchmark benchmark(deck, *compute, communicator, timer);
  RunRecord record = begin_record(setup, "step", arguments.command_line, started);
  record.parameters = compute->registry().total();

  std::vector<std::vector<IterationRow>> rows(deck.methods.size());
  const std::int64_t rounds = deck.step.warmup + deck.step.iterations;
  for (std::int64_t round = 1; round <= rounds; ++round) {
    for (int m = 0; m < benchmark.methods(); ++m) {
      IterationRow row = benchmark.run(m);
      if (file != nullptr) file->add(row);
      progress.iteration(row);
      rows[static_cast<std::size_t>(m)].push_back(std::move(row));
    }
    const bool out_of_time = deck.step.time_limit_seconds > 0 && round > deck.step.warmup &&
                             communicator.max_over_ranks(progress.seconds()) >= deck.step.time_limit_seconds;
    if (out_of_time && round < rounds) {
      progress.message(fmt::format("  time limit of {:g} s reached after {} of {} measured iterations",
                                   deck.step.time_limit_seconds, round - deck.step.warmup,
                                   deck.step.iterations));
      break;
    }
  }
  progress.finish();

  std::vector<StepSummary> summaries;
  for (const auto& method_rows : rows)
    summaries.push_back(summarize_iterations(method_rows));
  fill_break_evens(summaries);
  for (std::size_t m = 0; m < rows.size(); ++m) {
    record.measurements.push_back(
        {comparable_step(setup, deck.methods[m], *compute), step_metrics(rows[m]), to_json(summaries[m])});
  }
  record.verify = verify_step(benchmark, summaries, communicator.size());
  record.figures_of_merit = step_figures_of_merit(summaries);
  record.finished_utc = utc_now();
  record.wall_seconds = progress.seconds();
  const bool is_valid = valid(record.verify);
  if (root) {
    fmt::print("\n{}{}\n{}", step_tables(summaries), slowest_hosts(summaries, record.placement),
               verify_text(record.verify));
    for (const auto& [name, value] : record.figures_of_merit)
      fmt::print("FOM {} {:.4e}\n", name, value);
  }
  communicator.together([&] {
    if (!root || deck.output.directory.empty()) return;
    write_run_json(deck.output.directory, record);
    fmt::print("{}", draw_scaling_figures(deck.output));
  });
  keep_if_asked(communicator, arguments.keep, case_name(deck, communicator.size()), record);
  if (root) fmt::print("RESULT {}\n", is_valid ? "VALID" : "INVALID");
  return is_valid ? 0 : 1;
}

}  // namespace minigift
