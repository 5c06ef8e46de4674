#pragma once
// Methods to stand for the built-in ones, decks from text, and the message of an error.

#include "kernels/error.hpp"
#include "miniapp/deck/deck.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace minigift::test {

inline std::vector<MethodDeck> built_in_methods() {
  MethodDeck fp32;
  fp32.name = "fp32";
  MethodDeck euclidean;
  euclidean.name = "euclidean";
  euclidean.format = Format::e4m3;
  MethodDeck gift = euclidean;
  gift.name = "gift";
  gift.coordinates = CoordinatesChoice::input_lowrank;
  gift.error_feedback = ErrorFeedbackChoice::selected;
  MethodDeck paper = gift;
  paper.name = "gift-paper";
  paper.format = Format::e5m2;
  paper.exponent = 0.5;
  paper.refresh_period = 50;
  return {fp32, euclidean, gift, paper};
}

/// Every deck here runs fp32 unless it says otherwise.
inline Deck parse(const std::string& toml, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> sets = {"exchange.methods=fp32"};
  if (toml.find("methods") != std::string::npos) sets.clear();
  sets.insert(sets.end(), overrides.begin(), overrides.end());
  return parse_deck(toml, "test.toml", sets, built_in_methods());
}

/// The message of the UsageError that `action` throws.
template <class Action>
std::string usage_error(Action&& action) {
  try {
    action();
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no UsageError was thrown";
  return "";
}

/// `message` holds every one of `parts`.
inline void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is missing in: " << message;
  }
}

}  // namespace minigift::test
