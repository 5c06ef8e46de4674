#pragma once
// Reads one table of the deck into its struct, key by key.

#include "kernels/error.hpp"
#include "miniapp/deck/deck.hpp"
#include "miniapp/deck/value_text.hpp"

namespace minigift {

/// The names of a section's keys, in declared order.
template <class Section>
std::vector<std::string> key_names() {
  std::vector<std::string> names;
  const Section defaults;
  Section::fields(defaults, [&](const auto&, const Key& key) { names.emplace_back(key.name); });
  return names;
}

/// Throws UsageError for the first entry of `table` whose key is not in `names`. `prefix` is "train" or
/// "exchange.gift".
void refuse_unknown_keys(const RawTable& table, const std::string& prefix,
                         const std::vector<std::string>& names);

/// Assigns the keys that `table` has; the others keep their values. Records where each was set in `origins`.
template <class Section>
void read_section(const RawTable& table, const std::string& prefix, Section& section,
                  std::map<std::string, std::string>& origins) {
  refuse_unknown_keys(table, prefix, key_names<Section>());
  Section::fields(section, [&](auto& member, const Key& key) {
    const RawEntry* entry = find(table, key.name);
    if (entry == nullptr) return;
    const std::string problem = assign(entry->value, key, member);
    require_usage(problem.empty(), "{}: {}.{} = {} {}; allowed: {}", entry->location, prefix, key.name,
                  entry->value.text, problem, allowed_text(member, key));
    origins[prefix + "." + std::string(key.name)] = entry->location;
  });
}

}  // namespace minigift
