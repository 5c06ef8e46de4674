#include "miniapp/deck/value_text.hpp"

#include "miniapp/deck/deck.hpp"

#include <fmt/format.h>

#include <cmath>

namespace minigift {
namespace {

std::string range_text(const Key& key) {
  const bool lower = std::isfinite(key.minimum);
  const bool upper = std::isfinite(key.maximum);
  std::string text;
  if (lower) text += fmt::format(", {} {}", key.above_minimum ? "above" : "at least", key.minimum);
  if (upper) {
    text += fmt::format("{} {} {}", lower ? " and" : ",", key.below_maximum ? "below" : "at most",
                        static_cast<double>(static_cast<std::int64_t>(key.maximum)) == key.maximum
                            ? fmt::format("{}", static_cast<std::int64_t>(key.maximum))
                            : fmt::format("{}", key.maximum));
  }
  return text;
}

bool in_range(double value, const Key& key) {
  if (!std::isfinite(value)) return false;
  const bool above = key.above_minimum ? value > key.minimum : value >= key.minimum;
  const bool below = key.below_maximum ? value < key.maximum : value <= key.maximum;
  return above && below;
}

}  // namespace

std::string value_text(bool value) {
  return value ? "true" : "false";
}
std::string value_text(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string value_text(double value) {
  std::string text = fmt::format("{}", value);
  // TOML tells a float from an integer by its point or exponent.
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
std::string value_text(const std::string& value) {
  return toml_string(value);
}
std::string value_text(const std::vector<std::string>& value) {
  std::string text = "[";
  for (std::size_t i = 0; i < value.size(); ++i)
    text += (i == 0 ? "" : ", ") + toml_string(value[i]);
  return text + "]";
}

std::string value_text(const std::vector<std::int64_t>& value) {
  return fmt::format("[{}]", fmt::join(value, ", "));
}

std::string allowed_text(const bool&, const Key&) {
  return "true or false";
}
std::string allowed_text(const std::int64_t&, const Key& key) {
  return "an integer" + range_text(key);
}
std::string allowed_text(const double&, const Key& key) {
  return "a finite number" + range_text(key);
}
std::string allowed_text(const std::string&, const Key&) {
  return "a string";
}
std::string allowed_text(const std::vector<std::string>&, const Key&) {
  return "a string or a list of strings";
}
std::string allowed_text(const std::vector<std::int64_t>&, const Key& key) {
  return "a list of integers" + range_text(key);
}
std::string allowed_words(const std::string_view* names, std::size_t count) {
  std::string text = "one of ";
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : ", ") + toml_string(names[i]);
  return text;
}

std::string wrong_type(const RawValue& raw) {
  return fmt::format("is {}", raw.kind());
}

std::string nearest_choice(std::string_view word, const std::string_view* names, std::size_t count) {
  return nearest_name(word, std::vector<std::string>(names, names + count));
}

std::string assign(const RawValue& raw, const Key&, bool& value) {
  const auto* boolean = std::get_if<bool>(&raw.value);
  if (boolean == nullptr) return wrong_type(raw);
  value = *boolean;
  return "";
}

std::string assign(const RawValue& raw, const Key& key, std::int64_t& value) {
  const auto* integer = std::get_if<std::int64_t>(&raw.value);
  if (integer == nullptr) return wrong_type(raw);
  if (!in_range(static_cast<double>(*integer), key)) return "is out of range";
  value = *integer;
  return "";
}

std::string assign(const RawValue& raw, const Key& key, double& value) {
  double number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&raw.value)) {
    number = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&raw.value)) {
    number = *real;
  } else {
    return wrong_type(raw);
  }
  if (!in_range(number, key)) return "is out of range";
  value = number;
  return "";
}

std::string assign(const RawValue& raw, const Key&, std::string& value) {
  const auto* string = std::get_if<std::string>(&raw.value);
  if (string == nullptr) return wrong_type(raw);
  value = *string;
  return "";
}

std::string assign(const RawValue& raw, const Key&, std::vector<std::string>& value) {
  if (const auto* string = std::get_if<std::string>(&raw.value)) {
    value = {*string};
  } else if (const auto* list = std::get_if<RawList>(&raw.value)) {
    value = *list;
  } else {
    return wrong_type(raw);
  }
  return "";
}

std::string assign(const RawValue& raw, const Key& key, std::vector<std::int64_t>& value) {
  const auto* empty = std::get_if<RawList>(&raw.value);
  if (const auto* integer = std::get_if<std::int64_t>(&raw.value)) {
    value = {*integer};
  } else if (const auto* list = std::get_if<RawIntegers>(&raw.value)) {
    value = *list;
  } else if (empty != nullptr && empty->empty()) {
    value.clear();
  } else {
    return wrong_type(raw);
  }
  for (const std::int64_t element : value) {
    if (!in_range(static_cast<double>(element), key)) return "is out of range";
  }
  return "";
}

}  // namespace minigift
