// The deck's documentation: every key with default, allowed values, unit and help.

#include "miniapp/deck/deck.hpp"
#include "miniapp/deck/value_text.hpp"

#include <fmt/format.h>

namespace minigift {
namespace {

struct KeyDocument {
  std::string section;
  std::string name;
  std::string fallback;
  std::string allowed;
  std::string unit;
  std::string help;
};

template <class Section>
void document_section(const std::string& name, std::vector<KeyDocument>& documents) {
  const Section defaults;
  Section::fields(defaults, [&](const auto& member, const Key& key) {
    const std::string value = value_text(member);
    documents.push_back({name, std::string(key.name), value.empty() ? std::string(key.when_unset) : value,
                         allowed_text(member, key), std::string(key.unit), std::string(key.help)});
  });
}

std::vector<KeyDocument> documents() {
  std::vector<KeyDocument> result;
  const Deck defaults;
  Deck::sections(defaults, [&](const std::string& name, const auto& section) {
    document_section<std::decay_t<decltype(section)>>(name, result);
    if (name == "exchange") document_section<MethodDeck>("exchange.NAME", result);
  });
  return result;
}

std::string method_list(std::span<const MethodDeck> built_in) {
  std::string list;
  for (const MethodDeck& method : built_in)
    list += (list.empty() ? "" : ", ") + method.name;
  return list;
}

constexpr std::string_view method_note =
    "One table per method. A built-in method starts from its own values, a new NAME from those of its base";

}  // namespace

std::string deck_help(std::span<const MethodDeck> built_in) {
  std::string text = "Input deck (TOML). Any value can be set on the command line: --set section.key=value\n";
  std::string current;
  for (const KeyDocument& key : documents()) {
    if (key.section != current) {
      text += fmt::format("\n[{}]\n", key.section);
      if (key.section == "exchange.NAME") {
        text += fmt::format("  {}.\n  Built in: {}.\n", method_note, method_list(built_in));
      }
    }
    current = key.section;
    text += fmt::format("  {} = {}{}\n      {}. Allowed: {}.\n", key.name, key.fallback,
                        key.unit.empty() ? std::string() : fmt::format("  [{}]", key.unit), key.help,
                        key.allowed);
  }
  return text;
}

std::string deck_markdown(std::span<const MethodDeck> built_in) {
  const auto cell = [](const std::string& words) {  // a bar would end the cell
    std::string escaped;
    for (const char c : words) {
      if (c == '|') escaped += '\\';
      escaped += c;
    }
    return escaped;
  };
  std::string text;
  std::string current;
  for (const KeyDocument& key : documents()) {
    if (key.section != current) {
      text += fmt::format("{}## [{}]\n\n", current.empty() ? "" : "\n", key.section);
      if (key.section == "exchange.NAME") {
        text += fmt::format("{}. Built in: {}.\n\n", method_note, method_list(built_in));
      }
      text += "| key | default | allowed | unit | meaning |\n|---|---|---|---|---|\n";
    }
    current = key.section;
    text += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", key.name, cell(key.fallback), cell(key.allowed),
                        key.unit, cell(key.help));
  }
  return text;
}

}  // namespace minigift
