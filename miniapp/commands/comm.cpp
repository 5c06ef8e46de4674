#include "miniapp/commands/comm.hpp"

#include "miniapp/comm/benchmark.hpp"
#include "miniapp/comm/comm_record.hpp"
#include "miniapp/comm/comm_table.hpp"
#include "miniapp/comm/reference_curve.hpp"
#include "miniapp/commands/figures.hpp"
#include "miniapp/commands/run_report.hpp"
#include "miniapp/commands/setup.hpp"
#include "miniapp/report/progress.hpp"
#include "miniapp/report/results_folder.hpp"
#include "miniapp/transport/gpu.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

namespace minigift {

void add_comm_command(CLI::App& app, CommArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "comm",
      "Time the gradient collectives by message size: bandwidths [GB/s], bytes, error with its bound");
  command->add_option("deck", arguments.deck, "Input deck (TOML), e.g. inputs/studies/comm.toml")->required();
  command
      ->add_option(
          "--set", arguments.overrides,
          "Override a deck value, e.g. --set comm.maximum_bytes=1048576 [B] (repeatable); minigift train "
          "--help-deck lists them all")
      ->take_all();
  command->add_option("--out", arguments.output,
                      "New folder for run.json, comm.csv and figures (same as output.directory)");
  command
      ->add_option("--reference", arguments.references,
                   "Curve to set beside ours: JSON of nccl-tests (-J; times in us) or text of an OSU "
                   "collective (us) (repeatable)")
      ->take_all();
  add_keep_option(*command, arguments.keep);
  command->add_flag("--print-deck", arguments.print_deck,
                    "Print the effective deck (defaults, deck and overrides together) and stop");
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_comm_header(const Setup& setup) {
  print_run_header(setup, "comm");
  if (setup.communicator->rank() != 0) return;
  const Deck& deck = setup.deck;
  const CommDeck& comm = deck.comm;
  fmt::print("  sizes    FP32 gradients of {} to {} B, factor {}; buffers {}\n", comm.minimum_bytes,
             comm.maximum_bytes, comm.factor, comm.hot ? "hot" : "cold");
  const std::string compared =
      comm.check_every == 0 ? "never"
                            : fmt::format("every {} iterations, in the first and the last", comm.check_every);
  fmt::print("  rounds   {} to warm up, {} measured; all elements compared {}\n", comm.warmup,
             comm.iterations, compared);
  print_injections(deck.inject);
  fmt::print("  output   {}\n\n", deck.output.directory.empty()
                                      ? "none (--out DIR keeps run.json, comm.csv, figures)"
                                      : deck.output.directory);
  fmt::print("{}\n", comm_legend());
  std::fflush(stdout);
}

CommSurroundings surroundings_of(const Setup& setup) {
  const Communicator& communicator = *setup.communicator;
  const DeviceInfo device = current_device();
  return {.hot = setup.deck.comm.hot,
          .transport = name(communicator.staging()),
          .ranks = communicator.size(),
          .nodes = communicator.node_count(),
          .ranks_per_node = communicator.ranks_on_node(),
          .ranks_per_host = communicator.ranks_on_host(),
          .threads = setup.threads,
          .device = device.index < 0 ? "host" : device.name};
}

/// The record as it is written, with the curves it was seen beside.
nlohmann::ordered_json record_json(const RunRecord& record, const std::vector<ReferenceCurve>& references) {
  nlohmann::ordered_json json = to_json(record);
  json.erase("parameters");  // there is no model
  if (references.empty()) return json;
  auto& curves = json["references"] = nlohmann::ordered_json::array();
  for (const ReferenceCurve& curve : references)
    curves.push_back(to_json(curve));
  return json;
}

void write_files(const std::string& directory, const nlohmann::ordered_json& record,
                 const std::vector<CommRow>& rows) {
  const std::filesystem::path folder(directory);
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  write_new_file((folder / "run.json").string(), record.dump(2, ' ', false, replace) + "\n");
  write_new_file((folder / "comm.csv").string(), comm_csv(rows));
}

}  // namespace

int run_comm(const CommArguments& arguments) {
  const std::string started = utc_now();
  const auto start = std::chrono::steady_clock::now();
  Setup setup =
      set_up(arguments.deck, arguments.overrides, arguments.output, arguments.share_gpu, {}, validate_comm);
  Communicator& communicator = *setup.communicator;
  const Deck& deck = setup.deck;
  const bool root = communicator.rank() == 0;
  if (arguments.print_deck) {
    if (root) fmt::print("{}", to_text(deck));
    return 0;
  }

  std::vector<ReferenceCurve> references;
  communicator.together([&] {
    check_cases(comm_cases(deck.comm), communicator);
    for (const std::string& path : arguments.references) {
      const auto curves = read_reference(path, communicator.size());
      references.insert(references.end(), curves.begin(), curves.end());
    }
  });
  communicator.together([&] {
    if (root && !deck.output.directory.empty()) create_results_folder(deck.output.directory);
  });

  print_comm_header(setup);
  RunRecord record = begin_record(setup, "comm", arguments.command_line, started);
  std::unique_ptr<ProgressLine> line;
  if (root) line = std::make_unique<ProgressLine>(stderr);
  CommObserver observer;
  observer.progress = [&](double fraction, const std::string& text) {
    if (line) line->update(fraction, text);
  };
  observer.finished = [&](const std::vector<CommRow>& rows) {
    if (!line) return;
    line->finish();
    fmt::print("{}\n", comm_table(rows));
    std::fflush(stdout);
  };
  const std::vector<CommRow> rows = CommBenchmark(deck, communicator).run(observer);
  if (line) line->finish();

  for (const CommRow& row : rows)
    record.measurements.push_back(to_measurement(row, surroundings_of(setup)));
  record.verify = verify(rows);
  record.figures_of_merit = figures_of_merit(rows);
  record.finished_utc = utc_now();
  record.wall_seconds = seconds_since(start);
  const bool is_valid = valid(record.verify);
  const nlohmann::ordered_json json = record_json(record, references);
  if (root) {
    fmt::print("{}{}\n{}", skip_notes(rows), reference_table(rows, references), verify_text(record.verify));
    for (const auto& [name, value] : record.figures_of_merit)
      fmt::print("FOM {} {:.4e} B/s\n", name, value);
    if (!is_valid)
      fmt::print("a wrong result of {}; {}\n", communicator.mpi_library(), communicator.device_library());
  }
  communicator.together([&] {
    if (!root || deck.output.directory.empty()) return;
    write_files(deck.output.directory, json, rows);
    fmt::print("{}", draw_scaling_figures(deck.output));
  });
  communicator.together([&] {
    if (!root || arguments.keep.empty()) return;
    fmt::print("kept: {}\n", keep_record(arguments.keep, fmt::format("comm-r{}", communicator.size()), json));
  });
  if (root) fmt::print("RESULT {}\n", is_valid ? "VALID" : "INVALID");
  return is_valid ? 0 : 1;
}

}  // namespace minigift
