#include "miniapp/commands/compare.hpp"

#include "kernels/error.hpp"
#include "miniapp/compare/comparison_report.hpp"
#include "miniapp/report/results_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace minigift {
namespace {

/// Names that a file of bands may use besides the program's own: metrics of the records.
std::vector<std::string> metric_names(const RecordSet& set) {
  std::vector<std::string> names;
  for (const MeasuredCase& one : set.cases) {
    for (const Metric& metric : one.runs[0].metrics)
      names.push_back(metric.name);
  }
  return names;
}

ComparisonOptions options_of(const CompareArguments& arguments, const RecordSet& baseline) {
  ComparisonOptions options;
  const std::string file =
      arguments.bands_file.empty() ? bands_file_of(arguments.baseline) : arguments.bands_file;
  if (!file.empty()) options.bands = read_bands(file, metric_names(baseline));
  if (arguments.band) options.bands.standard = *arguments.band;
  options.floor = arguments.floor;
  options.least_samples = arguments.least_samples;
  options.strict = arguments.strict;
  return options;
}

/// Makes the file's folder, as --out does elsewhere.
void write_if_asked(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  require_usage(!error, "{}: cannot create its folder: {}", path, error.message());
  write_new_file(path, text);
}

}  // namespace

void add_compare_command(CLI::App& app, CompareArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "compare", "Judge a run against a baseline: PASS, WARN, FAIL or UNKNOWN per case and metric");
  constexpr const char* what = "record (run.json), --out folder, or folder of kept records";
  command->add_option("BASELINE", arguments.baseline, what)->required();
  command->add_option("CURRENT", arguments.current, what)->required();
  command
      ->add_option("--band", arguments.band,
                   "Relative slow-down that is tolerated where no file of bands names the metric (0.05)")
      ->check(CLI::Range(0.0, 10.0));
  command->add_option("--bands", arguments.bands_file,
                      "TOML file with a table [bands]; default: bands.toml in the baseline's folder");
  command
      ->add_option("--floor", arguments.floor,
                   "Smallest change of a time that can fail, as a fraction of the median step")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--min-samples", arguments.least_samples, "Samples that each side needs to be judged")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  command->add_flag("--force", arguments.force,
                    "Compare cases that differ in more than time, and say in what they differ");
  command->add_flag("--allow-invalid", arguments.allow_invalid, "Accept runs whose result was INVALID");
  command->add_flag("--strict", arguments.strict, "UNKNOWN fails too");
  command->add_flag("--all", arguments.all, "Print rows of phases that pass as well");
  command->add_option("--json", arguments.json_file, "Write everything to this new file");
  command->add_option("--junit", arguments.junit_file, "Write JUnit XML to this new file");
}

int run_compare(const CompareArguments& arguments) {
  const RecordSet baseline = read_records(arguments.baseline, arguments.allow_invalid);
  const RecordSet current = read_records(arguments.current, arguments.allow_invalid);
  const ComparisonOptions options = options_of(arguments, baseline);
  const Comparison comparison =
      compare_records(baseline, current, match_cases(baseline, current, arguments.force), options);
  constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
  write_if_asked(arguments.json_file, to_json(comparison).dump(2, ' ', false, replace) + "\n");
  write_if_asked(arguments.junit_file, junit_xml(comparison));
  fmt::print("{}", comparison_text(comparison, arguments.all));
  if (comparison.count(ChangeVerdict::fail) > 0) return 3;
  require_usage(comparison.tests > 0, "nothing could be judged: every row is UNKNOWN, as its note says");
  return 0;
}

}  // namespace minigift
