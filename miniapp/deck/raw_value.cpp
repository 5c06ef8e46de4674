#include "miniapp/deck/raw_value.hpp"

#include "kernels/error.hpp"

#include <toml++/toml.h>

#include <optional>
#include <sstream>

namespace minigift {
namespace {

std::string location_of(const std::string& file, const toml::source_position& position) {
  return fmt::format("{}:{}:{}", file, position.line, position.column);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  constexpr std::size_t longest = 120;
  if (text.size() > longest) text = text.substr(0, longest) + " ...";
  return text;
}

std::string text_of(const toml::node& node) {
  std::ostringstream stream;
  node.visit([&](const auto& value) { stream << value; });
  return one_line(stream.str());
}

RawValue convert(const toml::node& node, const std::string& file);

RawTable convert_table(const toml::table& table, const std::string& file) {
  RawTable result;
  for (auto&& [key, node] : table) {
    result.push_back(
        {one_line(std::string(key.str())), location_of(file, key.source().begin), convert(node, file)});
  }
  return result;
}

RawValue convert(const toml::node& node, const std::string& file) {
  RawValue result;
  result.text = text_of(node);
  if (const auto* boolean = node.as_boolean()) {
    result.value = boolean->get();
  } else if (const auto* integer = node.as_integer()) {
    result.value = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    result.value = real->get();
  } else if (const auto* string = node.as_string()) {
    result.value = string->get();
  } else if (const auto* table = node.as_table()) {
    result.value = convert_table(*table, file);
  } else if (const auto* array = node.as_array()) {
    RawList list;
    RawIntegers integers;
    for (const toml::node& element : *array) {
      if (const auto* word = element.as_string()) list.push_back(word->get());
      if (const auto* integer = element.as_integer()) integers.push_back(integer->get());
    }
    if (list.size() == array->size()) {
      result.value = std::move(list);
    } else if (integers.size() == array->size()) {
      result.value = std::move(integers);
    }
  }
  return result;
}

RawList split_at_commas(const std::string& text) {
  RawList words;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// The value, or nothing where the text is no TOML.
std::optional<RawValue> toml_value(const std::string& text) {
  try {
    const toml::table table = toml::parse("value = " + text + "\n");
    const toml::node* node = table.get("value");
    const bool date = node->is_date() || node->is_time() || node->is_date_time();
    if (table.size() == 1 && !date) return convert(*node, "");
  } catch (const toml::parse_error&) {
  }
  return std::nullopt;
}

RawValue override_value(const std::string& text) {
  if (auto value = toml_value(text)) return *std::move(value);
  // Brackets and quotes on a command line are easily lost to the shell, so they are not asked for: 50,200 is
  // a list of integers, other words are strings.
  if (auto value = toml_value("[" + text + "]")) {
    if (std::holds_alternative<RawIntegers>(value->value)) return *std::move(value);
  }
  RawValue result;
  result.text = toml_string(text);
  if (text.find(',') != std::string::npos) {
    result.value = split_at_commas(text);
  } else {
    result.value = text;
  }
  return result;
}

}  // namespace

std::string_view RawValue::kind() const {
  static constexpr std::string_view names[] = {"something else",     "true or false", "an integer",
                                               "a number",           "a string",      "a list of strings",
                                               "a list of integers", "a table"};
  return names[value.index()];
}

RawTable parse_toml(std::string_view text, const std::string& file) {
  try {
    return convert_table(toml::parse(text, file), file);
  } catch (const toml::parse_error& error) {
    throw UsageError(fmt::format("{}: TOML syntax: {}", location_of(file, error.source().begin),
                                 one_line(std::string(error.description()))));
  }
}

RawTable parse_override(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string path = text.substr(0, equals);
  const std::string location = "--set " + one_line(text);
  const std::size_t last_dot = path.rfind('.');
  require_usage(equals != std::string::npos && last_dot != std::string::npos && last_dot != 0 &&
                    last_dot + 1 < path.size(),
                "{}: expected section.key=value, such as train.steps=100", location);
  RawEntry entry{path.substr(last_dot + 1), location, override_value(text.substr(equals + 1))};
  std::size_t end = last_dot;
  while (true) {  // wrap the entry in its sections, innermost first
    const std::size_t dot = path.rfind('.', end - 1);
    const std::size_t begin = dot == std::string::npos || end == 0 ? 0 : dot + 1;
    RawEntry section{path.substr(begin, end - begin),
                     location,
                     {RawTable{}, fmt::format("{{ {} = {} }}", entry.key, entry.value.text)}};
    std::get<RawTable>(section.value.value).push_back(std::move(entry));
    require_usage(!section.key.empty(), "{}: expected section.key=value, such as train.steps=100", location);
    entry = std::move(section);
    if (begin == 0) break;
    end = begin - 1;
  }
  return {std::move(entry)};
}

const RawEntry* find(const RawTable& table, std::string_view key) {
  for (const RawEntry& entry : table) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

std::string toml_string(std::string_view text) {
  // TOML basic string: quote, backslash and control characters are escaped; everything else is UTF-8 as it
  // is.
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace minigift
