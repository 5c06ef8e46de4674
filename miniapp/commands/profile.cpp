#include "miniapp/commands/profile.hpp"

#include "kernels/error.hpp"
#include "kernels/linalg/gemm.hpp"
#include "miniapp/commands/figures.hpp"
#include "miniapp/commands/setup.hpp"
#include "miniapp/data/token_source.hpp"
#include "miniapp/fidelity/study.hpp"
#include "miniapp/profile/profile_observer.hpp"
#include "miniapp/profile/profile_report.hpp"
#include "miniapp/profile/trace_profile.hpp"
#include "miniapp/report/environment.hpp"
#include "miniapp/report/progress.hpp"
#include "miniapp/report/results_folder.hpp"
#include "miniapp/train/trace_recorder.hpp"
#include "miniapp/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>

namespace minigift {
namespace {

/// HDF5 files begin with these bytes; a deck is text.
bool is_hdf5(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char signature[8] = {};
  file.read(signature, sizeof(signature));
  return file.gcount() == 8 && std::string_view(signature, 8) == std::string_view("\x89HDF\r\n\x1a\n", 8);
}

Format format_of(const ProfileArguments& arguments) {
  return arguments.format == "e5m2" ? Format::e5m2 : Format::e4m3;
}

LowerBoundary lower_of(const ProfileArguments& arguments) {
  for (const LowerBoundary lower : {LowerBoundary::flushed, LowerBoundary::subnormal}) {
    if (name(lower) == arguments.lower) return lower;
  }
  return LowerBoundary::least_magnitude;
}

/// What a profile is of, in words, and the profiles.
struct Profiled {
  std::string origin;
  std::vector<LayerProfile> profiles;
};

Profiled profile_of_trace(const ProfileArguments& arguments, Communicator& communicator, ProgressLine& line) {
  require_usage(communicator.size() == 1, "profile of a trace runs on one rank; {} were started",
                communicator.size());
  require_usage(arguments.overrides.empty(), "--set changes a deck; {} is a trace", arguments.input);
  const TraceReader trace(arguments.input);
  const auto tensors = chosen_tensors(trace, arguments.tensors);
  return {fmt::format("trace {}, {} steps of {} ranks", arguments.input, trace.steps().size(),
                      trace.header().ranks),
          profile_trace(trace, tensors, format_of(arguments),
                        [&](double fraction, const std::string& text) { line.update(fraction, text); })};
}

Profiled profile_of_training(const ProfileArguments& arguments, Setup& setup, ProgressLine* line) {
  Communicator& communicator = *setup.communicator;
  const Deck& deck = setup.deck;
  std::unique_ptr<TokenSource> source;
  std::vector<int> tensors;
  const auto methods = built_in_methods();
  const auto euclidean = std::find_if(methods.begin(), methods.end(),
                                      [](const MethodDeck& method) { return method.name == "euclidean"; });
  communicator.together([&] {
    source = open_token_source(deck.data, deck.model.vocabulary);
    check_products_available(deck);
    tensors = traced_tensors(arguments.tensors, ParameterRegistry(llama_shape(deck.model)));
  });
  require_same(communicator, fmt::format("{:016x}", source->content_hash()), "the data",
               source->description());
  Trainer trainer(deck, *euclidean, *source, communicator, nullptr);
  ProfileObserver observer(format_of(arguments), arguments.measure_every, tensors, trainer.model().registry(),
                           trainer.model().gradients(), static_cast<std::uint64_t>(deck.train.seed),
                           communicator);
  trainer.observe(&observer);
  for (std::int64_t step = 1; step <= arguments.steps; ++step) {
    const StepRow row = trainer.step();
    if (line != nullptr)
      line->update(static_cast<double>(step) / static_cast<double>(arguments.steps),
                   fmt::format("step {}/{}, loss {:.4f}", step, arguments.steps, row.train_loss));
  }
  return {fmt::format("{} on {}, {} steps of {} rank{}, {}", deck.model.name, source->description(),
                      arguments.steps, communicator.size(), communicator.size() == 1 ? "" : "s",
                      trainer.description()),
          observer.profiles()};
}

void write_results(const ProfileArguments& arguments, const ProfileReport& report, const std::string& origin,
                   Communicator& communicator) {
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["command"] = "profile";
  json["arguments"] = arguments.command_line;
  json["finished_utc"] = utc_now();
  json["environment"] = environment_record({.mpi = communicator.mpi_library(), .linalg = linalg_backend()});
  json["origin"] = origin;
  json["format"] = arguments.format;
  json["lower_boundary"] = name(report.lower);
  json["chosen_by"] = arguments.score;
  json["boundary_chosen"] = report.boundary.chosen;
  json["gain_chosen"] = report.gain.chosen;
  write_new_file(arguments.output + "/profile.json", json.dump(2) + "\n");
  write_new_file(arguments.output + "/profile.csv", profile_csv(report));
  write_new_file(arguments.output + "/selection.txt", selection_text(report, origin));
}

}  // namespace

void add_profile_command(CLI::App& app, ProfileArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "profile",
      "Rank layers by how FP8 hurts their gradients, and write a selection for exchange.NAME.layers");
  command
      ->add_option("input", arguments.input,
                   "Input deck (TOML), trained with the euclidean method, or a trace (HDF5)")
      ->required();
  command
      ->add_option("--set", arguments.overrides,
                   "Override a deck value, e.g. --set train.global_batch=64 (repeatable)")
      ->take_all();
  command->add_option("--steps", arguments.steps, "Training steps (default 100)")->check(CLI::PositiveNumber);
  command
      ->add_option(
          "--measure-every", arguments.measure_every,
          "Steps between measurements of gamma and of the error that coordinates remove (default 10)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--format", arguments.format, "FP8 format whose boundaries count: e4m3 (default) or e5m2")
      ->check(CLI::IsMember({"e4m3", "e5m2"}));
  command
      ->add_option(
          "--lower", arguments.lower,
          "Lower boundary: least (zero or the smallest subnormal; default), flushed (zero) or subnormal")
      ->check(CLI::IsMember({"least", "flushed", "subnormal"}));
  command->add_option("--by", arguments.score, "Score that chooses: gain (default) or boundary (the paper's)")
      ->check(CLI::IsMember({"gain", "boundary"}));
  command->add_option("--top-k", arguments.top, "Choose so many layers (default: cut at the visible drop)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--tensors", arguments.tensors,
                   "Candidates: mlp (default), attention, all, or patterns with *")
      ->delimiter(',');
  command->add_option("--out", arguments.output,
                      "New folder for profile.json, profile.csv, selection.txt and figures");
  command->add_option("--select", arguments.selection, "New file for the selection alone");
  command->add_flag("!--no-figures", arguments.figures, "Draw no figures");
}

int run_profile(const ProfileArguments& arguments) {
  const bool trace = is_hdf5(arguments.input);
  Setup setup;
  if (trace) {
    setup.communicator =
        std::make_unique<Communicator>(CommunicatorOptions{.share_gpu = arguments.share_gpu});
    setup.threads = threads_per_rank(setup.communicator->ranks_on_host());
    set_linalg_threads(setup.threads);
  } else {
    setup = set_up(arguments.input, arguments.overrides, "", arguments.share_gpu);
    // The first steps of the deck's own training: its schedule stays, unless it is too short.
    setup.deck.train.steps = std::max(setup.deck.train.steps, arguments.steps);
  }
  Communicator& communicator = *setup.communicator;
  const bool root = communicator.rank() == 0;
  communicator.together([&] {
    if (root && !arguments.output.empty()) create_results_folder(arguments.output);
  });
  Profiled profiled;
  {
    std::unique_ptr<ProgressLine> line;
    if (root) line = std::make_unique<ProgressLine>(stderr);
    profiled = trace ? profile_of_trace(arguments, communicator, *line)
                     : profile_of_training(arguments, setup, line.get());
    if (line) line->finish();
  }
  const ProfileReport report = make_profile_report(
      std::move(profiled.profiles), lower_of(arguments),
      arguments.score == "gain" ? ProfileScore::gain : ProfileScore::boundary, arguments.top);
  communicator.together([&] {
    if (!root) return;
    fmt::print("profile of {}\nboundaries in {}\n{}", profiled.origin, arguments.format,
               profile_text(report));
    if (!arguments.selection.empty())
      write_new_file(arguments.selection, selection_text(report, profiled.origin));
    if (arguments.output.empty()) return;
    write_results(arguments, report, profiled.origin, communicator);
    fmt::print("selection: {}/selection.txt\n{}", arguments.output,
               draw_fidelity_figures(arguments.figures, trace ? arguments.input : "", arguments.output));
  });
  return 0;
}

}  // namespace minigift
