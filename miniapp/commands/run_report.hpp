#pragma once
// What the commands that measure a run have in common: the head of their output and of their record.

#include "miniapp/commands/setup.hpp"
#include "miniapp/report/progress.hpp"
#include "miniapp/report/run_record.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace minigift {

/// "llama-4m: 4,147,968 parameters, 5 layers, ...".
std::string describe_model(const Deck& deck);
/// "32 sequences of 128 tokens per step = 2 ranks x ...".
std::string describe_batch(const Deck& deck, int ranks);
/// Program and commit, ranks, libraries, GPUs: the first lines of a run. Collective; rank 0 prints.
void print_run_header(const Setup& setup, const char* command);
/// "  method   NAME  its parts", a line per method of the deck.
void print_methods(const Deck& deck, int ranks);
/// "  INJECTED ...", where the deck asks for faults.
void print_injections(const InjectDeck& inject);

/// The progress line of a run that prints its rows on standard output, too.
std::unique_ptr<ProgressLine> run_progress_line();

/// Everything of a record that is known before the measurement. Collective.
RunRecord begin_record(const Setup& setup, const char* command, const std::vector<std::string>& arguments,
                       const std::string& started_utc);

/// Where a run took place, as far as runs must agree in it to be compared: command, transport, ranks, nodes,
/// ranks_per_node, ranks_per_host, threads, device. Collective.
nlohmann::ordered_json comparable_place(const Setup& setup, const char* command);
/// What of the model a run must agree in: model, parameters, precision, global_batch, micro_batch,
/// sequence_length.
void add_comparable_model(const Deck& deck, nlohmann::ordered_json& comparable);

/// method, composition, bucket_megabytes, overlap.
void add_comparable_method(const Setup& setup, const MethodDeck& method, nlohmann::ordered_json& comparable);

/// --keep FOLDER
void add_keep_option(CLI::App& command, std::string& folder);
/// Writes the record to FOLDER/CASE.json (or CASE-2.json ...) and says so. Nothing for an empty folder.
/// Collective.
void keep_if_asked(Communicator& communicator, const std::string& folder, const std::string& case_name,
                   const RunRecord& record);

}  // namespace minigift
