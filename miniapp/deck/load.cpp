// Reads the layers of a deck in the order in which they override each other.

#include "miniapp/deck/methods.hpp"
#include "miniapp/deck/read_section.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace minigift {

void refuse_unknown_keys(const RawTable& table, const std::string& prefix,
                         const std::vector<std::string>& names) {
  for (const RawEntry& entry : table) {
    if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
    std::vector<std::string> full_names;
    for (const std::string& name : names)
      full_names.push_back(prefix + "." + name);
    const std::string full = prefix + "." + entry.key;
    throw UsageError(fmt::format("{}: unknown key '{}' = {}{}", entry.location, full, entry.value.text,
                                 nearest_name(full, full_names)));
  }
}

namespace {

std::string read_file(const std::string& path, const std::string& what) {
  std::error_code error;
  require_usage(!std::filesystem::is_directory(path, error), "{}: {} is a folder, not a file", path, what);
  std::ifstream stream(path, std::ios::binary);
  require_usage(stream.good(), "{}: cannot read {}: {}", path, what, std::strerror(errno));
  std::ostringstream text;
  text << stream.rdbuf();
  require_usage(!stream.bad(), "{}: cannot read {}: {}", path, what, std::strerror(errno));
  return text.str();
}

/// Every section must be known and a table.
void check_sections(const RawTable& layer) {
  std::vector<std::string> names;
  const Deck defaults;
  Deck::sections(defaults, [&](const char* name, const auto&) { names.emplace_back(name); });
  for (const RawEntry& entry : layer) {
    const bool known = std::find(names.begin(), names.end(), entry.key) != names.end();
    require_usage(known, "{}: unknown section '{}'{}", entry.location, entry.key,
                  nearest_name(entry.key, names));
    require_usage(entry.value.table() != nullptr, "{}: '{}' is a section, [{}], and cannot be {}",
                  entry.location, entry.key, entry.key, entry.value.kind());
  }
}

/// The file a model deck's name stands for: models/NAME.toml beside the deck, one folder up, or of the inputs
/// folder.
std::string model_file(const RawEntry& entry, const std::string& name, const std::string& deck_file) {
  const std::filesystem::path folder = std::filesystem::path(deck_file).parent_path();
  const std::vector<std::filesystem::path> folders = {
      folder / "models", folder / ".." / "models", std::filesystem::path(MINIGIFT_INPUTS_FOLDER) / "models"};
  std::error_code error;
  std::vector<std::string> names;
  for (const std::filesystem::path& candidate : folders) {
    const std::filesystem::path file = candidate / (name + ".toml");
    if (std::filesystem::is_regular_file(file, error)) return file.lexically_normal().string();
    for (const auto& item : std::filesystem::directory_iterator(candidate, error)) {
      if (item.path().extension() == ".toml") names.push_back(item.path().stem().string());
    }
  }
  throw UsageError(fmt::format("{}: model.deck = {} names no file models/{}.toml{}", entry.location,
                               entry.value.text, name, nearest_name(name, names)));
}

/// Reads the [model] section of the file that the last model.deck names.
void read_model_deck(const std::vector<RawTable>& layers, const std::string& deck_file, Deck& deck) {
  const RawEntry* include = nullptr;
  for (const RawTable& layer : layers) {
    const RawEntry* section = find(layer, "model");
    if (section == nullptr) continue;
    if (const RawEntry* entry = find(*section->value.table(), "deck")) include = entry;
  }
  if (include == nullptr) return;
  const auto* name = std::get_if<std::string>(&include->value.value);
  if (name == nullptr) return;  // read_section reports the type
  const std::string file = model_file(*include, *name, deck_file);
  const RawTable table = parse_toml(read_file(file, "the model deck"), file);
  check_sections(table);
  for (const RawEntry& section : table) {
    require_usage(section.key == "model", "{}: a model deck holds [model] only, not [{}]", section.location,
                  section.key);
    const RawEntry* nested = find(*section.value.table(), "deck");
    require_usage(nested == nullptr, "{}: a model deck cannot name another one",
                  nested ? nested->location : "");
    read_section(*section.value.table(), "model", deck.model, deck.origins);
  }
}

void add_method_tables(const RawTable& exchange, std::vector<MethodTables>& methods) {
  for (const RawEntry& entry : exchange) {
    const bool plain =
        entry.key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
        std::string::npos;
    require_usage(plain && !entry.key.empty(),
                  "{}: method name '{}' may hold letters, digits, '-' and '_' only", entry.location,
                  entry.key);
    auto known = std::find_if(methods.begin(), methods.end(),
                              [&](const MethodTables& tables) { return tables.name == entry.key; });
    if (known == methods.end()) known = methods.insert(known, {entry.key, {}, entry.location});
    known->tables.push_back(entry.value.table());
  }
}

}  // namespace

Deck parse_deck(std::string_view toml, const std::string& file, const std::vector<std::string>& overrides,
                std::span<const MethodDeck> built_in) {
  std::vector<RawTable> layers = {parse_toml(toml, file)};
  for (const std::string& text : overrides)
    layers.push_back(parse_override(text));
  for (const RawTable& layer : layers)
    check_sections(layer);

  Deck deck;
  read_model_deck(layers, file, deck);
  const std::vector<std::string> exchange_keys = key_names<ExchangeDeck>();
  std::vector<RawTable> method_layers(layers.size());  // owns what MethodTables points to
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Deck::sections(deck, [&](const std::string& name, auto& section) {
      const RawEntry* entry = find(layers[i], name);
      if (entry == nullptr) return;
      RawTable keys = *entry->value.table();
      if (name == "exchange") {  // tables of [exchange] that are no keys are methods
        std::erase_if(keys, [&](const RawEntry& key) {
          const bool is_key =
              std::find(exchange_keys.begin(), exchange_keys.end(), key.key) != exchange_keys.end();
          const bool is_method = key.value.table() != nullptr && !is_key;
          if (is_method) method_layers[i].push_back(key);
          return is_method;
        });
      }
      read_section(keys, name, section, deck.origins);
    });
  }
  std::vector<MethodTables> methods;
  for (const RawTable& layer : method_layers)
    add_method_tables(layer, methods);
  resolve_methods(deck, methods, built_in);
  return deck;
}

Deck load_deck(const std::string& path, const std::vector<std::string>& overrides,
               std::span<const MethodDeck> built_in) {
  return parse_deck(read_file(path, "the deck"), path, overrides, built_in);
}

}  // namespace minigift
