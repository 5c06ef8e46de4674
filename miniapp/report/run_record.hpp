#pragma once
// run.json: everything a result must say about itself. Described by results/schema.json.

#include "miniapp/deck/deck.hpp"
#include "miniapp/report/environment.hpp"
#include "miniapp/report/measurement.hpp"
#include "miniapp/report/method_summary.hpp"

#include <string>
#include <vector>

namespace minigift {

inline constexpr int run_schema_version = 2;

enum class Verdict { pass, fail, unchecked };
/// "PASS", "FAIL", "UNCHECKED"
std::string_view verdict_word(Verdict verdict);

/// One line "VERIFY name   : PASS  text".
struct VerifyLine {
  std::string name;
  Verdict verdict = Verdict::unchecked;
  std::string text;  ///< measured value, bound, and what it covers
};
/// Names padded to one width.
std::string verify_text(const std::vector<VerifyLine>& lines);
/// True if there is a line and every one passed: what nothing checked is not valid.
bool valid(const std::vector<VerifyLine>& lines);

struct RunRecord {
  std::string command;                 ///< "train", "step"
  std::vector<std::string> arguments;  ///< the command line
  std::string started_utc;
  std::string finished_utc;
  double wall_seconds = not_measured;
  std::int64_t ranks = 1;
  std::string data_description;  ///< of a training; empty: the record has no data
  std::uint64_t data_hash = 0;
  std::int64_t parameters = 0;
  nlohmann::ordered_json environment;             ///< environment_record()
  std::vector<nlohmann::ordered_json> placement;  ///< placement_record() of every rank
  Deck deck;
  std::vector<MethodSummary> methods;     ///< of a training
  std::vector<Measurement> measurements;  ///< what `minigift compare` reads
  std::vector<VerifyLine> verify;
  std::vector<std::pair<std::string, double>> figures_of_merit;  ///< FOM name, value
};

/// 64-bit hashes are written as "0x…" strings: JSON numbers lose their last bits.
nlohmann::ordered_json to_json(const RunRecord& record);

/// Writes directory/run.json, which must not exist.
void write_run_json(const std::string& directory, const RunRecord& record);

}  // namespace minigift
