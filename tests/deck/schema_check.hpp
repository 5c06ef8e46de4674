#pragma once
// A small checker of the part of JSON Schema that results/schema.json uses.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex.h>
#include <string>
#include <vector>

namespace minigift::schema {

using Json = nlohmann::json;

/// Whether `text` holds a match of a POSIX extended pattern. (std::regex makes GCC 12's sanitizer builds
/// warn.)
inline bool matches(const std::string& text, const std::string& pattern) {
  regex_t compiled;
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

inline bool is_of_type(const Json& value, const std::string& type) {
  return (type == "null" && value.is_null()) || (type == "boolean" && value.is_boolean()) ||
         (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number()) ||
         (type == "string" && value.is_string()) || (type == "array" && value.is_array()) ||
         (type == "object" && value.is_object());
}

/// What is wrong with `value`, one line each, with its place. `root` holds the definitions.
inline std::vector<std::string> problems(const Json& schema, const Json& value, const Json& root,
                                         const std::string& where) {
  std::vector<std::string> found;
  const auto also = [&](const Json& part, const Json& member, const std::string& place) {
    const std::vector<std::string> more = problems(part, member, root, place);
    found.insert(found.end(), more.begin(), more.end());
  };
  if (schema.contains("$ref")) {
    const std::string reference = schema["$ref"];
    also(root.at(Json::json_pointer(reference.substr(1))), value, where);
    return found;
  }
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    if (std::none_of(types.begin(), types.end(), [&](const Json& type) { return is_of_type(value, type); }))
      found.push_back(where + " is " + value.dump() + ", not " + types.dump());
  }
  if (schema.contains("const") && value != schema["const"])
    found.push_back(where + " is " + value.dump() + ", not " + schema["const"].dump());
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    found.push_back(where + " is " + value.dump() + ", none of " + schema["enum"].dump());
  if (schema.contains("pattern") && value.is_string() &&
      !matches(value.get<std::string>(), schema["pattern"].get<std::string>()))
    found.push_back(where + " = " + value.dump());
  for (const Json& part : schema.value("allOf", Json::array()))
    also(part, value, where);
  if (schema.contains("if") && schema.contains("then") && problems(schema["if"], value, root, where).empty())
    also(schema["then"], value, where);
  if (value.is_object()) {
    for (const std::string name : schema.value("required", Json::array())) {
      if (!value.contains(name)) found.push_back(where + " has no " + name);
    }
    const Json others = schema.value("additionalProperties", Json(true));
    for (const auto& [name, member] : value.items()) {
      const std::string place = where + "." + name;
      if (schema.contains("properties") && schema["properties"].contains(name)) {
        also(schema["properties"][name], member, place);
      } else if (others.is_object()) {
        also(others, member, place);
      } else if (!others.get<bool>()) {
        found.push_back(place + " is not in the schema");
      }
    }
  }
  if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i)
      also(schema["items"], value[i], where + "[" + std::to_string(i) + "]");
  }
  return found;
}

}  // namespace minigift::schema
