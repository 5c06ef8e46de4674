// The effective deck, written: as TOML, as text, as a hash, as a difference.

#include "miniapp/deck/deck.hpp"
#include "miniapp/deck/value_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace minigift {
namespace {

/// Calls visit(section name, key, value text) for every value of the effective deck. Unset optional values
/// have no text.
template <class Visitor>
void for_each_value(const Deck& deck, Visitor&& visit) {
  Deck::sections(deck, [&](const std::string& name, const auto& section) {
    std::decay_t<decltype(section)>::fields(section, [&](const auto& member, const Key& key) {
      if (!key.input_only) visit(name, key, value_text(member));
    });
    if (name != "exchange") return;
    for (const MethodDeck& method : deck.methods) {
      MethodDeck::fields(method, [&](const auto& member, const Key& key) {
        visit("exchange." + method.name, key, value_text(member));
      });
    }
  });
}

}  // namespace

std::vector<DeckValue> effective_values(const Deck& deck) {
  std::vector<DeckValue> values;
  for_each_value(deck, [&](const std::string& section, const Key& key, const std::string& text) {
    if (!text.empty()) values.push_back({section + "." + std::string(key.name), text});
  });
  return values;
}

std::string to_toml(const Deck& deck) {
  std::string text;
  std::string current;
  for_each_value(deck, [&](const std::string& section, const Key& key, const std::string& value) {
    if (section != current) text += fmt::format("{}[{}]\n", current.empty() ? "" : "\n", section);
    current = section;
    if (!value.empty()) text += fmt::format("{} = {}\n", key.name, value);
  });
  return text;
}

std::string to_text(const Deck& deck) {
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for_each_value(deck, [&](const std::string&, const Key& key, const std::string& value) {
    key_width = std::max(key_width, key.name.size());
    value_width = std::max(value_width, std::min<std::size_t>(value.size(), 24));
  });
  std::string text;
  std::string current;
  for_each_value(deck, [&](const std::string& section, const Key& key, const std::string& value) {
    if (section != current) text += fmt::format("[{}]\n", section);
    current = section;
    const bool set = deck.origins.contains(section + "." + std::string(key.name));
    std::string line =
        fmt::format("{} {:<{}}  {:<{}}  {}", set ? '*' : ' ', key.name, key_width,
                    value.empty() ? fmt::format("({})", key.when_unset) : value, value_width, key.unit);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  });
  return text + "(* set by the deck, its model deck or --set)\n";
}

std::uint64_t hash(const Deck& deck) {
  std::uint64_t state = 0xcbf29ce484222325u;  // FNV-1a, 64 bits
  for (const DeckValue& value : effective_values(deck)) {
    for (const char c : value.key + " = " + value.value + "\n") {
      state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
  }
  return state;
}

std::optional<DeckDifference> first_difference(const Deck& first, const Deck& second) {
  const std::vector<DeckValue> a = effective_values(first);
  const std::vector<DeckValue> b = effective_values(second);
  const auto value_in = [](const std::vector<DeckValue>& values, const std::string& key) -> std::string {
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const DeckValue& v) { return v.key == key; });
    return found == values.end() ? "(absent)" : found->value;
  };
  for (const DeckValue& value : a) {
    const std::string other = value_in(b, value.key);
    if (other != value.value) return DeckDifference{value.key, value.value, other};
  }
  for (const DeckValue& value : b) {
    if (value_in(a, value.key) == "(absent)") return DeckDifference{value.key, "(absent)", value.value};
  }
  return std::nullopt;
}

}  // namespace minigift
