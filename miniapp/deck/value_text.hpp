#pragma once
// How each type of key is described, written as TOML, and read from TOML. One overload per type.

#include "miniapp/deck/key.hpp"
#include "miniapp/deck/raw_value.hpp"

namespace minigift {

std::string value_text(bool value);
std::string value_text(std::int64_t value);
std::string value_text(double value);  // shortest text that reads back to the same number
std::string value_text(const std::string& value);
std::string value_text(const std::vector<std::string>& value);
std::string value_text(const std::vector<std::int64_t>& value);
template <Choice T>
std::string value_text(T value) {
  return toml_string(name_of(value));
}
template <Choice T>
std::string value_text(const std::vector<T>& value) {
  std::vector<std::string> words;
  for (const T choice : value)
    words.emplace_back(name_of(choice));
  return value_text(words);
}
template <class T>
std::string value_text(const std::optional<T>& value) {
  return value ? value_text(*value) : std::string();
}

/// "an integer, at least 1": the type and range of a key.
std::string allowed_text(const bool&, const Key& key);
std::string allowed_text(const std::int64_t&, const Key& key);
std::string allowed_text(const double&, const Key& key);
std::string allowed_text(const std::string&, const Key& key);
std::string allowed_text(const std::vector<std::string>&, const Key& key);
std::string allowed_text(const std::vector<std::int64_t>&, const Key& key);
std::string allowed_words(const std::string_view* names, std::size_t count);
template <Choice T>
std::string allowed_text(const T& value, const Key&) {
  const auto names = names_of(value);
  return allowed_words(names.data(), names.size());
}
template <Choice T>
std::string allowed_text(const std::vector<T>&, const Key& key) {
  return "a list of " + allowed_text(T{}, key);
}
template <class T>
std::string allowed_text(const std::optional<T>&, const Key& key) {
  return allowed_text(T{}, key);
}

/// Why a raw value does not fit, or "" if it was assigned.
std::string assign(const RawValue& raw, const Key& key, bool& value);
std::string assign(const RawValue& raw, const Key& key, std::int64_t& value);
std::string assign(const RawValue& raw, const Key& key, double& value);
std::string assign(const RawValue& raw, const Key& key, std::string& value);
std::string assign(const RawValue& raw, const Key& key, std::vector<std::string>& value);
std::string assign(const RawValue& raw, const Key& key, std::vector<std::int64_t>& value);
std::string wrong_type(const RawValue& raw);
std::string nearest_choice(std::string_view word, const std::string_view* names, std::size_t count);
template <Choice T>
std::string assign(const RawValue& raw, const Key&, T& value) {
  const auto* word = std::get_if<std::string>(&raw.value);
  if (word == nullptr) return wrong_type(raw);
  const std::optional<T> choice = choice_from<T>(*word);
  if (!choice) {
    const auto names = names_of(T{});
    return "is not a known name" + nearest_choice(*word, names.data(), names.size());
  }
  value = *choice;
  return "";
}
template <Choice T>
std::string assign(const RawValue& raw, const Key& key, std::vector<T>& value) {
  std::vector<std::string> words;
  std::string problem = assign(raw, key, words);
  if (!problem.empty()) return problem;
  value.clear();
  for (const std::string& word : words) {
    const std::optional<T> choice = choice_from<T>(word);
    const auto names = names_of(T{});
    if (!choice) return "has an unknown name" + nearest_choice(word, names.data(), names.size());
    value.push_back(*choice);
  }
  return "";
}
template <class T>
std::string assign(const RawValue& raw, const Key& key, std::optional<T>& value) {
  T inner{};
  std::string problem = assign(raw, key, inner);
  if (problem.empty()) value = inner;
  return problem;
}

}  // namespace minigift
