#include "miniapp/commands/step_report.hpp"

#include "miniapp/commands/run_report.hpp"
#include "miniapp/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace minigift {

StepProgress::StepProgress(bool prints, const Deck& deck)
    : deck_(deck), prints_(prints), start_(std::chrono::steady_clock::now()), loop_start_(start_) {
  if (prints_) line_ = run_progress_line();
}

double StepProgress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void StepProgress::header(const Setup& setup, const StepCompute& compute) {
  loop_start_ = std::chrono::steady_clock::now();
  if (!prints_) return;
  const Deck& deck = setup.deck;
  const int ranks = setup.communicator->size();
  fmt::print("  model    {}\n", describe_model(deck));
  fmt::print("  tensors  {} of {} parameters\n", compute.registry().size(),
             cell_count(compute.registry().total()));
  fmt::print("  workload {}, compute {}: {}\n", name_of(deck.step.workload), name_of(deck.step.compute),
             compute.description());
  if (compute.tokens() > 0) {
    fmt::print("  batch    {}, {} scaling\n", describe_batch(deck, ranks),
               deck.step.batch_per_rank > 0 ? "weak" : "strong");
  }
  print_methods(deck, ranks);
  fmt::print("  rounds   {} warm-up, {} measured; methods in turns; FP64 comparison every {} iterations\n",
             deck.step.warmup, deck.step.iterations, deck.step.check_every);
  print_injections(deck.inject);
  fmt::print("  output   {}\n\n", deck.output.directory.empty()
                                      ? "none (--out DIR keeps run.json, steps.csv, figures)"
                                      : deck.output.directory);
  fmt::print(
      " round method              step ms | forward backward refresh  coord encode   wire decode  optim | "
      "exposed "
      "slowest  rel L2 |   left\n");
  std::fflush(stdout);
}

void StepProgress::iteration(const IterationRow& row) {
  ++done_;
  if (!prints_) return;
  const auto all = static_cast<double>(deck_.step.warmup + deck_.step.iterations) *
                   static_cast<double>(deck_.methods.size());
  const double fraction = static_cast<double>(done_) / all;
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - loop_start_).count();
  if (row.iteration % deck_.step.print_every != 0 && !row.skipped) {
    line_->update(fraction, fmt::format("{} iteration {}", row.method, row.iteration));
    return;
  }
  const auto ms = [&row](std::string_view phase) {
    const auto place = std::find(phase_names.begin(), phase_names.end(), phase) - phase_names.begin();
    return 1e3 * row.phases[static_cast<std::size_t>(place)];
  };
  line_->message(
      fmt::format("{:>5}{} {:<18} {:>8.2f} | {:>7.2f} {:>8.2f} {:>7.2f} {:>6.2f} {:>6.2f} {:>6.2f} {:>6.2f} "
                  "{:>6.2f} | {:>7.2f} "
                  "{:>7} {:>7} | {:>6}",
                  row.iteration, row.warmup ? "w" : " ", row.method, 1e3 * row.step_seconds, ms("forward"),
                  ms("backward"), ms("refresh"), ms("coordinates"), ms("encode"), ms("wire"), ms("decode"),
                  ms("optimizer"), 1e3 * row.exposed_seconds, row.slowest_rank,
                  row.skipped                         ? "skipped"
                  : std::isnan(row.relative_l2_error) ? ""
                                                      : cell_scientific(row.relative_l2_error, 1),
                  cell_duration(elapsed * (1 / fraction - 1))));
}

void StepProgress::message(const std::string& line) {
  if (prints_) line_->message(line);
}

void StepProgress::finish() {
  if (prints_) line_->finish();
}

std::string slowest_hosts(const std::vector<StepSummary>& summaries,
                          const std::vector<nlohmann::ordered_json>& placement) {
  const auto host = [&](std::size_t rank) { return placement[rank]["host"].get<std::string>(); };
  std::set<std::size_t> ranks;
  bool several = false;
  for (std::size_t r = 0; r < placement.size(); ++r)
    several = several || host(r) != host(0);
  for (const StepSummary& summary : summaries)
    ranks.insert(static_cast<std::size_t>(summary.slowest_rank));
  std::string text;
  for (const std::size_t rank : ranks) {
    if (several) text += fmt::format("rank {} is on {}\n", rank, host(rank));
  }
  return text;
}

std::vector<VerifyLine> verify_step(const StepBenchmark& benchmark, const std::vector<StepSummary>& summaries,
                                    int ranks) {
  std::int64_t exchanges = 0, free = 0;
  std::string disagreeing, skipped;
  bool wire = true;
  std::vector<VerifyLine> lines;
  for (int m = 0; m < benchmark.methods(); ++m) {
    const StepFindings& findings = benchmark.findings(m);
    const StepSummary& summary = summaries[static_cast<std::size_t>(m)];
    exchanges += findings.exchanges;
    if (findings.allows_divergence) free += findings.exchanges;
    if (!findings.disagreeing.empty() && disagreeing.empty()) disagreeing = findings.disagreeing.front();
    if (!findings.skipped.empty() && skipped.empty()) skipped = findings.skipped.front();
    wire = wire && findings.wire_as_planned;
    if (findings.compared == 0) {
      lines.push_back(
          {"exchange", Verdict::unchecked,
           fmt::format("{}: never compared with an FP64 sum (step.check_every)", summary.method)});
    } else if (findings.allows_divergence) {
      lines.push_back({"exchange", Verdict::pass,
                       fmt::format("{}: relative L2 error {:.2e}; no bound, for the method lets ranks differ",
                                   summary.method, summary.relative_l2_error)});
    } else {
      const bool within = summary.relative_l2_error <= summary.error_bound;
      lines.push_back({"exchange", within ? Verdict::pass : Verdict::fail,
                       fmt::format("{}: relative L2 error {:.2e} {} bound {:.2e} in {} comparisons",
                                   summary.method, summary.relative_l2_error,
                                   within ? "<=" : "NOT <=", summary.error_bound, findings.compared)});
    }
  }
  const std::string besides =
      free == 0 ? std::string() : fmt::format("; {} more of methods that let ranks differ", free);
  lines.insert(
      lines.begin(),
      {"checksum", disagreeing.empty() ? Verdict::pass : Verdict::fail,
       disagreeing.empty() ? fmt::format("the exchanged gradient is bit-identical on all {} ranks after "
                                         "each of {} exchanges{}",
                                         ranks, exchanges - free, besides)
                           : fmt::format("ranks hold different bits after {}", disagreeing)});
  lines.push_back({"wire", wire ? Verdict::pass : Verdict::fail,
                   wire ? "payload bytes sent per rank equal the closed form in every iteration"
                        : "payload bytes sent per rank differ from the closed form"});
  lines.push_back({"finite", skipped.empty() ? Verdict::pass : Verdict::fail,
                   skipped.empty() ? std::string("every gradient and every sum is finite")
                                   : fmt::format("skipped: {}", skipped)});
  return lines;
}

std::vector<std::pair<std::string, double>> step_figures_of_merit(const std::vector<StepSummary>& summaries) {
  std::vector<std::pair<std::string, double>> figures;
  for (const StepSummary& s : summaries) {
    figures.emplace_back("step_seconds " + s.method, s.step_seconds_median);
    if (std::isfinite(s.tokens_per_second))
      figures.emplace_back("tokens_per_second " + s.method, s.tokens_per_second);
    figures.emplace_back("gradient_bandwidth " + s.method, s.gradient_bandwidth);
  }
  return figures;
}

}  // namespace minigift
