#include "miniapp/compare/matching.hpp"

#include "kernels/error.hpp"
#include "miniapp/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

namespace minigift {
namespace {

using Json = nlohmann::ordered_json;

/// What makes two cases of unlike runs one another's counterpart.
constexpr std::array<const char*, 6> identity = {"command", "method", "collective",
                                                 "format",  "count",  "ranks"};

std::string value_text(const Json& comparable, const std::string& name) {
  if (!comparable.contains(name)) return "(none)";
  const Json& value = comparable[name];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool same_identity(const Json& a, const Json& b) {
  return std::all_of(identity.begin(), identity.end(),
                     [&](const char* name) { return value_text(a, name) == value_text(b, name); });
}

std::string short_name(const Json& comparable) {
  if (!comparable.contains("collective"))
    return value_text(comparable, comparable.contains("method") ? "method" : "command");
  const Json count = comparable.value("count", Json());
  return fmt::format("{} {} {}", value_text(comparable, "collective"), value_text(comparable, "format"),
                     count.is_number_integer() ? cell_count(count.get<std::int64_t>()) : count.dump());
}

const Json& comparable_of(const MatchedCase& match) {
  return match.baseline != nullptr ? match.baseline->comparable : match.current->comparable;
}

struct Counterpart {
  std::size_t place = 0;
  std::vector<std::string> differing;
};

/// The unmatched current case most like an unmatched baseline case, if there is one that does the same.
std::optional<Counterpart> nearest(const MeasuredCase& baseline, const std::vector<MatchedCase>& unmatched,
                                   bool any) {
  std::optional<Counterpart> best;
  for (std::size_t i = 0; i < unmatched.size(); ++i) {
    if (unmatched[i].current == nullptr) continue;
    const Json& comparable = unmatched[i].current->comparable;
    if (!any && !same_identity(baseline.comparable, comparable)) continue;
    std::vector<std::string> differing = differing_values(baseline.comparable, comparable);
    if (!best || differing.size() < best->differing.size()) best = {i, std::move(differing)};
  }
  return best;
}

std::string first_few(const std::vector<std::string>& differing) {
  constexpr std::size_t shown = 4;
  const std::size_t count = std::min(shown, differing.size());
  std::string text = fmt::format(
      "{}", fmt::join(differing.begin(), differing.begin() + static_cast<std::ptrdiff_t>(count), ", "));
  if (differing.size() > count) text += fmt::format(" and {} more", differing.size() - count);
  return text;
}

}  // namespace

std::vector<std::string> differing_values(const Json& baseline, const Json& current) {
  std::vector<std::string> names;
  for (const auto& [name, value] : baseline.items())
    names.push_back(name);
  for (const auto& [name, value] : current.items()) {
    if (!baseline.contains(name)) names.push_back(name);
  }
  std::vector<std::string> differing;
  for (const std::string& name : names) {
    const std::string before = value_text(baseline, name), after = value_text(current, name);
    if (before != after) differing.push_back(fmt::format("{} {} against {}", name, before, after));
  }
  return differing;
}

std::vector<MatchedCase> match_cases(const RecordSet& baseline, const RecordSet& current, bool force) {
  std::vector<MatchedCase> matches, extra;
  for (const MeasuredCase& one : baseline.cases)
    matches.push_back({&one, nullptr});
  for (const MeasuredCase& one : current.cases) {
    const auto found = std::find_if(matches.begin(), matches.end(),
                                    [&](const MatchedCase& match) { return match.baseline->key == one.key; });
    if (found == matches.end()) {
      extra.push_back({nullptr, &one});
    } else {
      found->current = &one;
    }
  }
  for (MatchedCase& match : matches) {
    if (match.current != nullptr) continue;
    std::optional<Counterpart> other = nearest(*match.baseline, extra, false);
    if (!other) continue;
    require_usage(force, "{} of {} and {} is not the same case: {} (--force compares all the same)",
                  short_name(match.baseline->comparable), match.baseline->files[0],
                  extra[other->place].current->files[0], first_few(other->differing));
    match.current = extra[other->place].current;
    match.differing = std::move(other->differing);
    extra[other->place].current = nullptr;
  }
  std::erase_if(extra, [](const MatchedCase& match) { return match.current == nullptr; });
  if (std::none_of(matches.begin(), matches.end(),
                   [](const MatchedCase& m) { return m.current != nullptr; })) {
    const std::optional<Counterpart> other = nearest(*matches[0].baseline, extra, true);
    throw UsageError(fmt::format("{} and {} have no case in common; the nearest to the first: {}",
                                 baseline.path, current.path, first_few(other->differing)));
  }
  matches.insert(matches.end(), extra.begin(), extra.end());
  return matches;
}

std::vector<std::string> case_names(const std::vector<MatchedCase>& matches) {
  std::map<std::string, std::vector<std::size_t>> alike;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const Json& comparable = comparable_of(matches[i]);
    names.push_back(short_name(comparable));
    alike[fmt::format("{} {} {}", value_text(comparable, "command"), names.back(),
                      value_text(comparable, "ranks"))]
        .push_back(i);
  }
  for (const auto& [name, places] : alike) {
    const Json& first = comparable_of(matches[places[0]]);
    for (const auto& [field, value] : first.items()) {
      const bool differs = std::any_of(places.begin(), places.end(), [&, &field = field](std::size_t place) {
        return value_text(comparable_of(matches[place]), field) != value_text(first, field);
      });
      if (!differs) continue;
      for (const std::size_t place : places)
        names[place] += fmt::format(", {} {}", field, value_text(comparable_of(matches[place]), field));
    }
  }
  return names;
}

}  // namespace minigift
