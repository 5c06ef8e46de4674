#pragma once
// TOML as read, with the place of every key and value, before anything is known about its meaning. The only
// file that sees toml++ is raw_value.cpp.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace minigift {

struct RawEntry;
using RawTable = std::vector<RawEntry>;
using RawList = std::vector<std::string>;
using RawIntegers = std::vector<std::int64_t>;

struct RawValue {
  /// monostate: a kind of value no key has (dates, arrays of other things than strings or integers). The
  /// empty array is a RawList.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, RawList, RawIntegers, RawTable> value;
  std::string text;  ///< as TOML, on one line, for messages

  const RawTable* table() const { return std::get_if<RawTable>(&value); }
  std::string_view kind() const;  ///< "an integer", "a table", …
};

struct RawEntry {
  std::string key;
  std::string location;  ///< FILE:LINE:COLUMN of the key, or the --set it came from
  RawValue value;
};

/// Parses a TOML document. Throws UsageError with FILE:LINE:COLUMN on a syntax error.
RawTable parse_toml(std::string_view text, const std::string& file);

/// Parses "section.key=value" as the table it stands for. The value is TOML; text that is no TOML value is
/// taken as a string, or with commas as a list of strings.
RawTable parse_override(const std::string& text);

/// The entry named `key`, or nullptr.
const RawEntry* find(const RawTable& table, std::string_view key);

/// A string as a TOML literal, with its quotes and escapes.
std::string toml_string(std::string_view text);

}  // namespace minigift
