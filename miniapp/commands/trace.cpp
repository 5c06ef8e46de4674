#include "miniapp/commands/trace.hpp"

#include "kernels/error.hpp"
#include "miniapp/report/run_record.hpp"
#include "miniapp/report/table.hpp"
#include "miniapp/trace/compare.hpp"
#include "miniapp/trace/trace_reader.hpp"
#include "miniapp/trace/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

namespace minigift {
namespace {

using namespace trace_layout;

std::string shape_text(std::int64_t rows, std::int64_t columns) {
  return fmt::format("{} x {}", rows, columns);
}

void print_header(const TraceReader& trace) {
  const TraceHeader& header = trace.header();
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(trace.path()));
  fmt::print("trace      {}, {} bytes, schema version {}\n", trace.path(), cell_count(bytes), schema_version);
  fmt::print("written    {} by minigift {} (git {})\n", header.created_utc, header.program_version,
             header.git_commit);
  fmt::print("model      {}\n", header.model);
  fmt::print("method     {}\n", header.method);
  fmt::print("ranks      {} of {} recorded\n", header.ranks, header.world_size);
  fmt::print("content    {}\n", fmt::join(content_words(header.content), ", "));
  fmt::print("deck       {} lines (--deck prints them)\n\n",
             std::count(header.deck.begin(), header.deck.end(), '\n'));
}

void print_steps(const TraceReader& trace) {
  Table table({{"step"},
               {"learning rate"},
               {"tokens", "per rank"},
               {"loss, mean", "nat"},
               {"smallest", "nat"},
               {"largest", "nat"}});
  for (const TraceStep& step : trace.steps()) {
    const double sum = std::accumulate(step.loss.begin(), step.loss.end(), 0.0);
    const auto [least, most] = std::minmax_element(step.loss.begin(), step.loss.end());
    table.add_row({cell_count(step.step), cell_scientific(step.learning_rate, 3),
                   cell_count(step.tokens_per_rank),
                   cell_fixed(sum / static_cast<double>(step.loss.size()), 4), cell_fixed(*least, 4),
                   cell_fixed(*most, 4)});
  }
  fmt::print("{}\n", table.text());
}

/// Sizes of the arrays of one kind over all steps.
void print_arrays(const TraceReader& trace) {
  Table table({{"array", "", Align::left},
               {"units", "", Align::left},
               {"per step"},
               {"elements", "per step"},
               {"size", "MB"},
               {"in the file", "MB"},
               {"ratio"}});
  for (const ArrayKind kind : all_kinds) {
    if (!is_recorded(kind, trace.header().content)) continue;
    std::int64_t arrays = 0, elements = 0, stored = 0;
    for (std::size_t s = 0; s < trace.steps().size(); ++s) {
      for (const ArrayPlan& plan : arrays_of_a_step(trace.header())) {
        if (plan.kind != kind) continue;
        const TraceArrayInfo info = trace.info(s, kind, plan.owner);
        stored += info.stored_bytes;
        if (s > 0) continue;
        ++arrays;
        elements += info.ranks * info.rows * info.columns;
      }
    }
    const double bytes = 4.0 * static_cast<double>(elements) * static_cast<double>(trace.steps().size());
    table.add_row({facts(kind).name, facts(kind).units, cell_count(arrays), cell_count(elements),
                   cell_fixed(bytes / 1e6, 2), cell_fixed(static_cast<double>(stored) / 1e6, 2),
                   cell_fixed(bytes / static_cast<double>(stored), 2)});
  }
  fmt::print("{}\n", table.text());
}

void print_tensors(const TraceHeader& header) {
  Table table({{"tensor", "", Align::left},
               {"role", "", Align::left},
               {"layer"},
               {"outputs x inputs"},
               {"input site", "", Align::left}});
  for (const TraceTensor& tensor : header.tensors)
    table.add_row({tensor.name, tensor.role, tensor.layer < 0 ? "-" : cell_count(tensor.layer),
                   shape_text(tensor.rows, tensor.columns),
                   tensor.input_site.empty() ? "-" : tensor.input_site});
  fmt::print("{}", table.text());
  if (header.sites.empty()) return;
  Table sites({{"input site", "", Align::left}, {"layer"}, {"width"}});
  for (const TraceSite& site : header.sites)
    sites.add_row({site.name, site.layer < 0 ? "-" : cell_count(site.layer), cell_count(site.width)});
  fmt::print("\n{}", sites.text());
}

int run_info(const TraceArguments& arguments) {
  const TraceReader trace(arguments.file);
  if (arguments.deck) {
    fmt::print("{}", trace.header().deck);
    return 0;
  }
  print_header(trace);
  print_steps(trace);
  print_arrays(trace);
  print_tensors(trace.header());
  return 0;
}

int run_verify(const TraceArguments& arguments) {
  std::vector<VerifyLine> lines;
  for (const TraceCheck& check : verify_trace(arguments.file))
    lines.push_back({check.name, check.passed ? Verdict::pass : Verdict::fail, check.text});
  fmt::print("trace {}\n{}RESULT {}\n", arguments.file, verify_text(lines),
             valid(lines) ? "VALID" : "INVALID");
  return valid(lines) ? 0 : 1;
}

/// Measured values keep infinities and NaN: they are results here.
std::string measured(double value) {
  return std::isfinite(value) ? cell_scientific(value, 2) : fmt::format("{}", value);
}

int run_compare(const TraceArguments& arguments) {
  const TraceReader first(arguments.file);
  const TraceReader second(arguments.other);
  const TraceComparison comparison = compare_traces(first, second);
  Table table({{"step"},
               {"array", "", Align::left},
               {"tensor or site", "", Align::left},
               {"ranks"},
               {"elements"},
               {"RelL2"},
               {"cosine"},
               {"max difference"},
               {"units", "", Align::left},
               {"equal bits"}});
  std::int64_t equal = 0;
  double worst = 0.0;
  for (const ArrayComparison& array : comparison.arrays) {
    equal += array.equal_bits ? 1 : 0;
    if (!(array.relative_l2 <= worst)) worst = array.relative_l2;
    table.add_row({cell_count(array.step), facts(array.kind).name, array.owner, cell_count(array.ranks),
                   cell_count(array.elements), measured(array.relative_l2),
                   fmt::format("{:.8f}", array.cosine), measured(array.max_difference),
                   facts(array.kind).units, array.equal_bits ? "yes" : "no"});
  }
  fmt::print("first   {}\nsecond  {}\nRelL2 = ||second - first|| / ||first||, all ranks together\n\n{}\n",
             first.path(), second.path(), table.text());
  for (const std::string& line : comparison.unmatched)
    fmt::print("NOT COMPARED {}\n", line);
  fmt::print("{} of {} arrays have equal bits, largest RelL2 {}\n", equal, comparison.arrays.size(),
             measured(worst));
  if (arguments.tolerance < 0.0) return 0;
  const bool passed = within(comparison, arguments.tolerance);
  fmt::print("{}",
             verify_text({{"compare", passed ? Verdict::pass : Verdict::fail,
                           fmt::format("largest RelL2 {}, tolerance {:g}, {} not compared", measured(worst),
                                       arguments.tolerance, comparison.unmatched.size())}}));
  return passed ? 0 : 1;
}

}  // namespace

void add_trace_command(CLI::App& app, TraceArguments& arguments) {
  CLI::App* command =
      app.add_subcommand("trace", "List, verify or compare traces (HDF5 files of train --trace)");
  command->require_subcommand(1);
  arguments.info = command->add_subcommand("info", "What a trace holds: run, steps, arrays, tensors");
  arguments.info->add_option("TRACE", arguments.file, "HDF5 file")->required();
  arguments.info->add_flag("--deck", arguments.deck,
                           "Print the deck of the run that wrote it, and nothing else");
  arguments.verify = command->add_subcommand(
      "verify", "Check digests, shapes, contents and finiteness; exit status 1 if something is wrong");
  arguments.verify->add_option("TRACE", arguments.file, "HDF5 file")->required();
  arguments.compare =
      command->add_subcommand("compare", "How far the arrays of a second trace are from the first's");
  arguments.compare->add_option("FIRST", arguments.file, "HDF5 file, the reference")->required();
  arguments.compare->add_option("SECOND", arguments.other, "HDF5 file")->required();
  arguments.compare
      ->add_option("--tolerance", arguments.tolerance,
                   "Exit status 1 if an array's RelL2 is larger than this, or something has no counterpart")
      ->check(CLI::NonNegativeNumber);
}

int run_trace(const TraceArguments& arguments) {
  if (arguments.info->parsed()) return run_info(arguments);
  return arguments.verify->parsed() ? run_verify(arguments) : run_compare(arguments);
}

}  // namespace minigift
