#pragma once
// Conditions between keys, and the words for those that are not met. For the validate functions.

#include "kernels/error.hpp"
#include "miniapp/deck/deck.hpp"

#include <string>
#include <vector>

namespace minigift {

class Checker {
 public:
  explicit Checker(const Deck& deck) : deck_(deck), values_(effective_values(deck)) {}

  /// Throws unless `condition` holds: where the first key that was set is, both keys with their values, and
  /// why.
  void check(bool condition, const std::string& first, const std::string& second,
             const std::string& why) const {
    if (condition) return;
    throw UsageError(fmt::format("{}{} and {}: {}", where(first, second), shown(first), shown(second), why));
  }
  void check(bool condition, const std::string& key, const std::string& why) const {
    if (condition) return;
    throw UsageError(fmt::format("{}{} {}", where(key, key), shown(key), why));
  }

 private:
  /// Where the two keys were set: "FILE:1:1, --set ...: ", or "deck: " when both are defaults.
  std::string where(const std::string& first, const std::string& second) const {
    std::string places;
    for (const std::string& key : {first, second}) {
      const auto origin = deck_.origins.find(key);
      if (origin == deck_.origins.end() || (key == second && first == second && !places.empty())) continue;
      places += (places.empty() ? std::string() : std::string(", ")) + origin->second;
    }
    return places.empty() ? "deck: " : places + ": ";
  }
  std::string shown(const std::string& key) const {
    for (const DeckValue& value : values_) {
      if (value.key == key) return fmt::format("{} = {}", key, value.value);
    }
    return key;
  }

  const Deck& deck_;
  std::vector<DeckValue> values_;
};

}  // namespace minigift
