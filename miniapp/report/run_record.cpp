#include "miniapp/report/run_record.hpp"

#include "miniapp/report/json_number.hpp"
#include "miniapp/report/results_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

namespace minigift {
namespace {

using Json = nlohmann::ordered_json;

std::string hexadecimal(std::uint64_t value) {
  return fmt::format("0x{:016x}", value);
}

/// One JSON value per key of a section.
template <class Section>
Json section_json(const Section& section) {
  Json json = Json::object();
  Section::fields(section, [&](const auto& member, const Key& key) {
    using T = std::decay_t<decltype(member)>;
    const std::string name(key.name);
    if (key.input_only) return;
    if constexpr (Choice<T>) {
      json[name] = std::string(name_of(member));
    } else if constexpr (requires { member.has_value(); }) {
      json[name] = member ? Json(*member) : Json(nullptr);
    } else {
      json[name] = member;
    }
  });
  return json;
}

Json deck_json(const Deck& deck) {
  Json json = Json::object();
  Deck::sections(deck,
                 [&](const std::string& name, const auto& section) { json[name] = section_json(section); });
  Json& methods = json["exchange"]["method"] = Json::object();
  for (const MethodDeck& method : deck.methods)
    methods[method.name] = section_json(method);
  return json;
}

}  // namespace

std::string_view verdict_word(Verdict verdict) {
  static constexpr std::array<std::string_view, 3> words = {"PASS", "FAIL", "UNCHECKED"};
  return words[static_cast<std::size_t>(verdict)];
}

std::string verify_text(const std::vector<VerifyLine>& lines) {
  std::size_t width = 0;
  for (const VerifyLine& line : lines)
    width = std::max(width, line.name.size());
  std::string text;
  for (const VerifyLine& line : lines) {
    text +=
        fmt::format("VERIFY {:<{}} : {:<4}  {}\n", line.name, width, verdict_word(line.verdict), line.text);
  }
  return text;
}

bool valid(const std::vector<VerifyLine>& lines) {
  return !lines.empty() && std::all_of(lines.begin(), lines.end(),
                                       [](const VerifyLine& l) { return l.verdict == Verdict::pass; });
}

Json to_json(const RunRecord& record) {
  Json json;
  json["schema_version"] = run_schema_version;
  json["command"] = record.command;
  json["arguments"] = record.arguments;
  json["started_utc"] = record.started_utc;
  json["finished_utc"] = record.finished_utc;
  json["wall_seconds"] = json_number(record.wall_seconds);
  json["valid"] = valid(record.verify);
  json["ranks"] = record.ranks;
  json["environment"] = record.environment;
  json["placement"] = record.placement;
  json["deck_hash"] = hexadecimal(hash(record.deck));
  json["deck"] = deck_json(record.deck);
  if (!record.data_description.empty())
    json["data"] = {{"description", record.data_description}, {"hash", hexadecimal(record.data_hash)}};
  json["parameters"] = record.parameters;
  if (!record.methods.empty()) {
    Json& methods = json["methods"] = Json::array();
    for (const MethodSummary& method : record.methods)
      methods.push_back(to_json(method));
  }
  Json& measurements = json["measurements"] = Json::array();
  for (const Measurement& measurement : record.measurements)
    measurements.push_back(to_json(measurement));
  Json& verify = json["verify"] = Json::array();
  for (const VerifyLine& line : record.verify) {
    verify.push_back({{"name", line.name}, {"verdict", verdict_word(line.verdict)}, {"text", line.text}});
  }
  Json& figures = json["figures_of_merit"] = Json::object();
  for (const auto& [name, value] : record.figures_of_merit)
    figures[name] = json_number(value);
  return json;
}

void write_run_json(const std::string& directory, const RunRecord& record) {
  // File names and arguments need not be UTF-8; a stray byte becomes U+FFFD instead of losing the result.
  const std::string text = to_json(record).dump(2, ' ', false, Json::error_handler_t::replace);
  write_new_file((std::filesystem::path(directory) / "run.json").string(), text + "\n");
}

}  // namespace minigift
