#include "miniapp/commands/fidelity.hpp"

#include "kernels/error.hpp"
#include "kernels/linalg/gemm.hpp"
#include "miniapp/commands/figures.hpp"
#include "miniapp/commands/setup.hpp"
#include "miniapp/fidelity/claims.hpp"
#include "miniapp/fidelity/row_json.hpp"
#include "miniapp/fidelity/study_tables.hpp"
#include "miniapp/report/environment.hpp"
#include "miniapp/report/progress.hpp"
#include "miniapp/report/results_folder.hpp"
#include "miniapp/report/run_record.hpp"
#include "miniapp/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

namespace minigift {
namespace {

const std::vector<std::string> all_parts = {"tables", "muon", "age", "sums"};

void choose_parts(StudyOptions& options, const std::vector<std::string>& parts) {
  if (parts.empty()) return;
  const auto has = [&](const char* part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  options.muon = has("muon");
  options.tables = has("tables") || options.muon;
  options.age = has("age");
  options.sums = has("sums");
}

/// The rows of all ranks, in rank order.
StudyResult gather(Communicator& communicator, const StudyResult& mine) {
  StudyResult all;
  const auto append = [](auto& to, auto&& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const std::string& text : communicator.gather_strings(to_json(mine).dump())) {
    StudyResult part = study_result_from_json(nlohmann::ordered_json::parse(text));
    append(all.one_step, part.one_step);
    append(all.age, part.age);
    append(all.sums, part.sums);
    for (const std::string& line : part.left_out) {
      if (std::find(all.left_out.begin(), all.left_out.end(), line) == all.left_out.end())
        all.left_out.push_back(line);
    }
  }
  return all;
}

VerifyLine within(const std::string& format, double value, double low, double high) {
  const bool pass = value >= low && value <= high;
  return {"floor", pass ? Verdict::pass : Verdict::fail,
          fmt::format("Euclidean {} RelL2 {:.4e} within the rounding floor {:.4f} ... {:.4f}", format, value,
                      low, high)};
}

std::vector<VerifyLine> verify(const StudyResult& result) {
  std::vector<VerifyLine> lines;
  std::size_t rows = 0, bad = 0;
  const auto count = [&](const ComparisonSums& sums) {
    ++rows;
    if (!std::isfinite(sums.difference) || !std::isfinite(sums.reference)) ++bad;
  };
  for (const OneStepRow& row : result.one_step)
    count(row.sums);
  for (const AgeRow& row : result.age)
    count(row.row.sums);
  for (const SumRow& row : result.sums)
    count(row.sums);
  lines.push_back({"finite",
                   rows == 0  ? Verdict::unchecked
                   : bad == 0 ? Verdict::pass
                              : Verdict::fail,
                   fmt::format("{} of {} rows are not finite", bad, rows)});
  const auto all = summarise(result.one_step);
  if (const OneStepSummary* summary = find(all, "euclidean", "e5m2"))
    lines.push_back(within("e5m2", summary->sums.relative_l2(), 0.0515, 0.0535));
  if (const OneStepSummary* summary = find(all, "euclidean", "e4m3"))
    lines.push_back(within("e4m3", summary->sums.relative_l2(), 0.0258, 0.0270));
  int identities = 0;
  for (const OneStepSummary& summary : all)
    identities += summary.identities;
  if (!all.empty())
    lines.push_back({"moments", identities == 0 ? Verdict::pass : Verdict::fail,
                     fmt::format("{} rows stayed Euclidean because a moment was zero", identities)});
  return lines;
}

nlohmann::ordered_json study_record(const FidelityArguments& arguments, const TraceReader& trace,
                                    const StudyResult& result, const std::vector<VerifyLine>& lines,
                                    Communicator& communicator, double seconds) {
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["command"] = "fidelity";
  json["arguments"] = arguments.command_line;
  json["finished_utc"] = utc_now();
  json["wall_seconds"] = seconds;
  json["ranks"] = communicator.size();
  json["environment"] = environment_record({.mpi = communicator.mpi_library(), .linalg = linalg_backend()});
  const TraceHeader& header = trace.header();
  json["trace"] = {{"file", arguments.trace},
                   {"model", header.model},
                   {"method", header.method},
                   {"git_commit", header.git_commit},
                   {"created_utc", header.created_utc},
                   {"world_size", header.world_size},
                   {"ranks", header.ranks}};
  for (const VerifyLine& line : lines)
    json["verify"].push_back(
        {{"name", line.name}, {"verdict", verdict_word(line.verdict)}, {"text", line.text}});
  for (const Claim& claim : judge_claims(result, arguments.study.formats.front())) {
    json["claims"].push_back({{"section", claim.section},
                              {"claim", claim.claim},
                              {"verdict", claim_word(claim.verdict)},
                              {"figures", claim.figures}});
  }
  json["left_out"] = result.left_out;
  return json;
}

void write_results(const FidelityArguments& arguments, const StudyResult& result,
                   const nlohmann::ordered_json& record) {
  const std::string& folder = arguments.output;
  write_new_file(folder + "/fidelity.json", record.dump(2) + "\n");
  if (!result.one_step.empty()) write_new_file(folder + "/fidelity.csv", to_csv(result.one_step));
  if (!result.age.empty()) write_new_file(folder + "/age.csv", to_csv(result.age));
  if (!result.sums.empty()) write_new_file(folder + "/sums.csv", to_csv(result.sums));
  write_new_file(folder + "/tables.md", study_text(result, arguments.study, true));
}

}  // namespace

void add_fidelity_command(CLI::App& app, FidelityArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "fidelity",
      "What number formats, changes of coordinates and reductions do to the gradients of a trace");
  StudyOptions& study = arguments.study;
  command->add_option("trace", arguments.trace, "Trace file (HDF5), written by minigift train --trace");
  command->add_option("--out", arguments.output,
                      "New folder for fidelity.json, CSV files, tables.md and figures");
  command->add_option("--steps", study.steps, "Traced steps to study, e.g. 50,200 (default: all)")
      ->delimiter(',');
  command
      ->add_option("--tensors", study.tensors,
                   "mlp, attention, all, roles such as mlp_down, or patterns with * (default: all)")
      ->delimiter(',');
  command
      ->add_option(
          "--formats", study.formats,
          "Number formats of the round trips; the first decides the paper's tables (default: e5m2,e4m3)")
      ->delimiter(',');
  command->add_option("--only", arguments.parts, "Parts: tables, muon, age, sums (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(all_parts));
  command
      ->add_option("--sum-ranks", study.sum_ranks,
                   "Numbers of ranks of the summed gradients; beyond the recorded ones gradients are drawn "
                   "(default: 2, 4, ... and all recorded)")
      ->delimiter(',')
      ->check(CLI::Range(2, 4096));
  command->add_option("--seed", study.seed, "Seed of drawn gradients");
  command->add_flag("--list", arguments.list, "List the transforms and formats, and stop");
  command->add_flag("--markdown", arguments.markdown, "Print Markdown tables");
  command->add_flag("!--no-figures", arguments.figures, "Draw no figures");
  command->callback([&arguments] {
    if (arguments.trace.empty() && !arguments.list) throw CLI::RequiredError("trace");
  });
}

void print_fidelity_list() {
  Table transforms(
      {{"transform", "", Align::left}, {"group", "", Align::left}, {"meaning", "", Align::left}});
  for (const TransformSpecification& specification : transform_catalog())
    transforms.add_row({specification.name, specification.group, specification.meaning});
  Table formats({{"format", "", Align::left}, {"wire size", "B/element"}});
  for (const RoundTripFormat& format : round_trip_formats())
    formats.add_row({format.name, cell_fixed(format.bytes_per_element, 4)});
  fmt::print("{}\n{}", transforms.text(), formats.text());
}

int run_fidelity(const FidelityArguments& given) {
  FidelityArguments arguments = given;
  choose_parts(arguments.study, arguments.parts);
  Communicator communicator({.share_gpu = arguments.share_gpu});
  const bool root = communicator.rank() == 0;
  const int threads = threads_per_rank(communicator.ranks_on_host());
  set_linalg_threads(threads);

  std::unique_ptr<TraceReader> trace;
  communicator.together([&] {
    trace = std::make_unique<TraceReader>(arguments.trace);
    for (const std::string& format : arguments.study.formats)
      round_trip_format(format);
    chosen_tensors(*trace, arguments.study.tensors);
    chosen_steps(*trace, arguments.study.steps);
    if (root && !arguments.output.empty()) create_results_folder(arguments.output);
  });
  const TraceHeader& header = trace->header();
  if (root) {
    fmt::print(
        "minigift fidelity: {} tensors of {}, {} step{}, {} of {} ranks; {} rank{} with {} thread{}, {}\n",
        header.tensors.size(), header.model, trace->steps().size(), trace->steps().size() == 1 ? "" : "s",
        header.ranks, header.world_size, communicator.size(), communicator.size() == 1 ? "" : "s", threads,
        threads == 1 ? "" : "s", linalg_backend());
  }
  const auto start = std::chrono::steady_clock::now();
  StudyResult mine;
  {
    ProgressLine line(stderr);
    communicator.together([&] {
      mine = run_study(*trace, arguments.study, communicator.rank(), communicator.size(),
                       [&](double fraction, const std::string& text) {
                         if (root) line.update(fraction, text);
                       });
    });
    line.finish();
  }
  const StudyResult result = gather(communicator, mine);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  const std::vector<VerifyLine> lines = verify(result);
  const bool is_valid = valid(lines);
  communicator.together([&] {
    if (!root) return;
    fmt::print("{}\n{}", study_text(result, arguments.study, arguments.markdown), verify_text(lines));
    if (!arguments.output.empty()) {
      write_results(arguments, result, study_record(arguments, *trace, result, lines, communicator, seconds));
      fmt::print("{}", draw_fidelity_figures(arguments.figures, arguments.trace, arguments.output));
    }
    fmt::print("time: {}\nRESULT {}\n", cell_duration(seconds), is_valid ? "VALID" : "INVALID");
  });
  return is_valid ? 0 : 1;
}

}  // namespace minigift
