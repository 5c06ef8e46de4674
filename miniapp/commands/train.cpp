#include "miniapp/commands/train.hpp"

#include "kernels/error.hpp"
#include "kernels/linalg/gemm.hpp"
#include "miniapp/commands/figures.hpp"
#include "miniapp/commands/run_report.hpp"
#include "miniapp/commands/setup.hpp"
#include "miniapp/commands/train_report.hpp"
#include "miniapp/data/token_source.hpp"
#include "miniapp/deck/raw_value.hpp"
#include "miniapp/exchange/error_bound.hpp"
#include "miniapp/report/memory.hpp"
#include "miniapp/report/results_folder.hpp"
#include "miniapp/report/run_record.hpp"
#include "miniapp/train/trace_recorder.hpp"
#include "miniapp/train/trainer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

namespace minigift {

void add_train_command(CLI::App& app, TrainArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "train", "Pretrain a Llama once per gradient exchange method and compare loss, time, bytes and error");
  command->add_option("deck", arguments.deck, "Input deck (TOML), e.g. inputs/quickstart.toml");
  command
      ->add_option("--set", arguments.overrides,
                   "Override a deck value, e.g. --set train.steps=100 (repeatable)")
      ->take_all();
  command->add_option("--out", arguments.output,
                      "New folder for run.json, steps.csv and figures (same as output.directory)");
  command->add_option("--trace", arguments.trace,
                      "New HDF5 file for gradients and second moments of the steps in [trace] (same as "
                      "trace.file)");
  add_keep_option(*command, arguments.keep);
  command->add_flag("--print-deck", arguments.print_deck,
                    "Print the effective deck (defaults, deck and overrides together) and stop");
  command->add_flag("--help-deck", arguments.print_help_deck,
                    "List every deck key with unit, default and meaning");
  command->add_flag("--markdown", arguments.markdown, "With --help-deck: as Markdown");
  command->callback([&arguments] {
    if (arguments.deck.empty() && !arguments.print_help_deck) throw CLI::RequiredError("deck");
  });
}

void print_deck_help(bool markdown) {
  const auto methods = built_in_methods();
  fmt::print("{}", markdown ? deck_markdown(methods) : deck_help(methods));
}

namespace {

/// What remains of one method when its trainer is gone.
struct MethodRun {
  MethodSummary summary;
  Measurement measurement;
  std::vector<std::string> skipped;
  bool replicas_identical = true;
  bool allows_divergence = false;
  bool wire_as_planned = true;
  double error_bound = not_measured;
};

/// Whether this method's training is the one that [trace] writes.
bool is_traced(const Deck& deck, const MethodDeck& method) {
  if (deck.trace.file.empty()) return false;
  return method.name == (deck.trace.method.empty() ? deck.exchange.methods.front() : deck.trace.method);
}

MethodRun run_method(const Deck& deck, const MethodDeck& method, const TokenSource& source,
                     Communicator& communicator, RegionTimer& timer, StepsFile* file,
                     TrainProgress& progress) {
  const bool own_peak = reset_peak_memory();
  Trainer trainer(deck, method, source, communicator, &timer);
  std::unique_ptr<TraceRecorder> recorder;
  if (is_traced(deck, method)) {
    recorder = std::make_unique<TraceRecorder>(deck, method.name, trainer.model().registry(),
                                               trainer.model().gradients(), communicator);
    trainer.observe(recorder.get());
  }
  MethodRun run;
  progress.begin_method(trainer.description(), trainer.validate());
  if (!own_peak)
    progress.message("  the system cannot reset peak memory: it includes the methods before this one");

  std::vector<StepRow> rows;
  const auto& train = deck.train;
  for (std::int64_t step = 1; step <= train.steps; ++step) {
    StepRow row = trainer.step();
    const bool out_of_time =
        train.time_limit_seconds > 0.0 &&
        communicator.max_over_ranks(progress.method_seconds()) >= train.time_limit_seconds;
    const bool last = step == train.steps || out_of_time;
    if (last || (train.validation_every > 0 && step % train.validation_every == 0)) {
      row.validation_loss = trainer.validate();
    }
    if (file != nullptr) file->add(row);
    progress.step(row, last);
    if (row.skipped) progress.message(trainer.skipped().back());
    rows.push_back(std::move(row));
    if (last) break;
  }
  if (recorder) {
    recorder->finish();
    progress.message(fmt::format("  trace: {} step{} of {} written to {}", recorder->steps_written(),
                                 recorder->steps_written() == 1 ? "" : "s", method.name, recorder->path()));
  }

  run.summary = summarize(rows, warmup_rows(static_cast<std::int64_t>(rows.size())));
  run.measurement.metrics = train_metrics(rows);
  run.summary.peak_memory_bytes = communicator.max_over_ranks(process_memory().peak_resident_bytes);
  run.summary.exchange_memory_bytes = communicator.max_over_ranks(trainer.exchange_memory_bytes());
  run.summary.replica_divergence = trainer.replica_divergence();
  run.skipped = trainer.skipped();
  run.replicas_identical = trainer.replicas_identical();
  run.allows_divergence = trainer.exchange().method().allow_divergence;
  run.wire_as_planned = trainer.wire_bytes_as_planned();
  run.error_bound = exchange_error_bound(trainer.exchange().method(), communicator.size());
  return run;
}

std::vector<VerifyLine> verify(const std::vector<MethodRun>& runs) {
  std::vector<VerifyLine> lines;
  VerifyLine replicas{"replicas", Verdict::pass, "parameters bit-identical on all ranks after every step"};
  VerifyLine finite{"finite", Verdict::pass, "no step skipped, every loss finite"};
  VerifyLine wire{"wire", Verdict::pass, "payload bytes sent per rank equal the closed form in every step"};
  for (const MethodRun& run : runs) {
    const auto& name = run.summary.method;
    if (!run.replicas_identical && !run.allows_divergence) {
      replicas = {"replicas", Verdict::fail, fmt::format("method {}: the ranks' parameters differ", name)};
    } else if (!run.replicas_identical && replicas.verdict == Verdict::pass) {
      replicas.text +=
          fmt::format("; {} diverges as it is meant to: {:.1e}", name, run.summary.replica_divergence);
    }
    if (!run.skipped.empty()) {
      finite = {"finite", Verdict::fail,
                fmt::format("method {}: {} steps skipped, first {}", name, run.skipped.size(),
                            run.skipped.front())};
    } else if (!std::isfinite(run.summary.validation_loss)) {
      finite = {"finite", Verdict::fail,
                fmt::format("method {}: validation loss {}", name, run.summary.validation_loss)};
    }
    if (!run.wire_as_planned) {
      wire = {"wire", Verdict::fail,
              fmt::format("method {}: payload bytes differ from the closed form", name)};
    }
    if (std::isfinite(run.summary.relative_l2_error) && !run.allows_divergence) {
      const bool within = run.summary.relative_l2_error <= run.error_bound;
      lines.push_back({"exchange", within ? Verdict::pass : Verdict::fail,
                       fmt::format("{}: relative L2 error {:.2e} {} bound {:.2e}, cosine {:.6f}", name,
                                   run.summary.relative_l2_error, within ? "<=" : ">", run.error_bound,
                                   run.summary.cosine)});
    }
  }
  lines.insert(lines.begin(), {replicas, finite, wire});
  return lines;
}

}  // namespace

int run_train(const TrainArguments& arguments) {
  const std::string started = utc_now();
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.trace.empty()) overrides.push_back("trace.file=" + toml_string(arguments.trace));
  Setup setup = set_up(arguments.deck, overrides, arguments.output, arguments.share_gpu);
  Communicator& communicator = *setup.communicator;
  const Deck& deck = setup.deck;
  const bool root = communicator.rank() == 0;
  if (arguments.print_deck) {
    if (root) fmt::print("{}", to_text(deck));
    return 0;
  }

  std::unique_ptr<TokenSource> source;
  communicator.together([&] {
    source = open_token_source(deck.data, deck.model.vocabulary);
    // Lengths are checked here, before any output exists.
    BatchSampler(*source, deck.train.seed, deck.train.sequence_length, deck.train.validation_sequences);
    llama_shape(deck.model).check();
    check_products_available(deck);
    if (!deck.trace.file.empty()) {
      traced_tensors(deck.trace.tensors, ParameterRegistry(llama_shape(deck.model)));
      require_usage(!std::filesystem::exists(deck.trace.file),
                    "trace.file = {} exists; results are never overwritten", deck.trace.file);
      const std::filesystem::path folder = std::filesystem::path(deck.trace.file).parent_path();
      std::error_code error;
      if (root && !folder.empty()) std::filesystem::create_directories(folder, error);
      require_usage(!error, "trace.file = {}: cannot create its folder: {}", deck.trace.file,
                    error.message());
    }
    for (const MethodDeck& method : deck.methods)
      check_method(resolve_method(method, deck.exchange, communicator.size()), llama_shape(deck.model));
    check_methods(deck, communicator);
  });
  require_same(communicator, fmt::format("{:016x}", source->content_hash()), "the data",
               source->description());

  std::unique_ptr<StepsFile> file;
  communicator.together([&] {
    if (!root || deck.output.directory.empty()) return;
    create_results_folder(deck.output.directory);
    file = std::make_unique<StepsFile>(deck.output.directory);
  });

  RegionTimer timer;
  TrainProgress progress(root, deck);
  progress.header(setup, *source);
  if (deck.trace.file.empty() && !deck.trace.steps.empty())
    progress.message("  trace    off: [trace] names steps, but no file; --trace FILE writes them");
  RunRecord record = begin_record(setup, "train", arguments.command_line, started);
  record.data_description = source->description();
  record.data_hash = source->content_hash();
  record.parameters = llama_shape(deck.model).parameter_count();

  std::vector<MethodRun> runs;
  for (const MethodDeck& method : deck.methods) {
    runs.push_back(run_method(deck, method, *source, communicator, timer, file.get(), progress));
    record.methods.push_back(runs.back().summary);
    record.measurements.push_back(runs.back().measurement);
    record.measurements.back().comparable = comparable_train(setup, method);
  }
  progress.finish();

  fill_differences(record.methods);
  record.verify = verify(runs);
  for (const MethodSummary& summary : record.methods) {
    record.figures_of_merit.emplace_back("tokens_per_second " + summary.method, summary.tokens_per_second);
  }
  record.finished_utc = utc_now();
  record.wall_seconds = progress.seconds();
  const bool is_valid = valid(record.verify);
  if (root) {
    fmt::print("\n{}\n{}", summary_table(record.methods), verify_text(record.verify));
    for (const auto& [name, value] : record.figures_of_merit)
      fmt::print("FOM {} {:.4e}\n", name, value);
  }
  communicator.together([&] {
    if (!root || deck.output.directory.empty()) return;
    write_run_json(deck.output.directory, record);
    fmt::print("{}", draw_training_figures(deck.output));
  });
  keep_if_asked(communicator, arguments.keep,
                fmt::format("train-{}-r{}", deck.model.name, communicator.size()), record);
  if (root) fmt::print("RESULT {}\n", is_valid ? "VALID" : "INVALID");
  return is_valid ? 0 : 1;
}

}  // namespace minigift
