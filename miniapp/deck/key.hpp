#pragma once
// What is known about one key of the input deck. A section is a plain struct whose static function
//
//   template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
//     visit(self.layers, Key{.name = "layers", .help = "number of decoder layers", .minimum = 1});
//   }
//
// calls `visit` once per key. Parsing, --help, printing, the TOML dump, hashing and the documentation are
// visitors, so none of them can disagree with another. The default of a key is the member initialiser of the
// struct.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace minigift {

struct Key {
  std::string_view name;
  std::string_view unit = "";  ///< "" for a number without a unit
  std::string_view help = "";
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool above_minimum = false;        ///< the minimum itself is not allowed
  bool below_maximum = false;        ///< the maximum itself is not allowed
  std::string_view when_unset = "";  ///< for std::optional members: what an absent value means
  bool input_only = false;           ///< read and documented, but no part of the effective deck
};

/// A choice is an enum whose enumerators count up from 0 and whose names are given by a function
/// `constexpr std::array<std::string_view, n> names_of(Choice)` beside it.
template <class T>
concept Choice = std::is_enum_v<T> && requires(T choice) {
  names_of(choice).size();
};

/// The deck's word for a choice.
template <Choice T>
constexpr std::string_view name_of(T choice) {
  return names_of(choice)[static_cast<std::size_t>(choice)];
}

/// The choice named `word`, or nothing.
template <Choice T>
constexpr std::optional<T> choice_from(std::string_view word) {
  const auto names = names_of(T{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == word) return static_cast<T>(i);
  }
  return std::nullopt;
}

}  // namespace minigift
