// Named methods and what may not be combined.
#include "tests/exchange/fixture.hpp"

#include <gtest/gtest.h>

namespace minigift {
namespace {

using test::method_named;
using test::method_with;

TEST(Method, BuiltInNamesAreThoseOfTheTable) {
  std::vector<std::string> names;
  for (const MethodDeck& deck : built_in_methods())
    names.push_back(deck.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"fp32", "bf16", "euclidean", "euclidean-block512", "gift", "gift-paper",
                                      "gift-literal", "gift-a2a", "int8-block128", "gift-int8"}));
}

TEST(Method, HeadroomIsTheNumberOfRanksWhereCodesAreAdded) {
  EXPECT_EQ(method_named("euclidean", 4).headroom, 4.0f);
  EXPECT_EQ(method_named("gift-a2a", 4).headroom, 1.0f);
  EXPECT_EQ(method_named("bf16", 4).headroom, 1.0f);
  EXPECT_EQ(method_with("euclidean", 4, [](MethodDeck& d) { d.headroom = 2; }).headroom, 2.0f);
}

TEST(Method, ThePaperPresetHasThePapersChoices) {
  const Method method = method_named("gift-paper", 2);
  EXPECT_EQ(method.format, Format::e5m2);
  EXPECT_EQ(method.whitening.exponent, 0.5);
  EXPECT_EQ(method.whitening.completion, Completion::edge);
  EXPECT_EQ(method.refresh_period, 50);
  EXPECT_EQ(method.rank, 32);
  EXPECT_EQ(method_named("gift", 2).refresh_period, 10);
  EXPECT_EQ(method_named("gift", 2).whitening.exponent, 0.25);
}

void expect_refused(const std::string& base, const std::string& word,
                    const std::function<void(MethodDeck&)>& edit) {
  try {
    method_with(base, 2, edit);
    FAIL() << base << " should have been refused over " << word;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(base), std::string::npos) << error.what();
  }
}

TEST(Method, ImpossibleCombinationsAreRefusedByName) {
  expect_refused("int8-block128", "int8", [](MethodDeck& d) {
    d.reduction = ReductionChoice::native;
    d.scale = ScaleChoice::synced;
  });
  expect_refused("gift-a2a", "carried", [](MethodDeck& d) { d.scale = ScaleChoice::synced; });
  expect_refused("euclidean", "carried", [](MethodDeck& d) { d.scale = ScaleChoice::carried; });
  expect_refused("gift-literal", "allow_divergence", [](MethodDeck& d) { d.allow_divergence = false; });
  expect_refused("bf16", "granularity", [](MethodDeck& d) { d.granularity = GranularityChoice::block; });
  expect_refused("fp32", "error_feedback",
                 [](MethodDeck& d) { d.error_feedback = ErrorFeedbackChoice::all; });
  expect_refused("euclidean", "error_feedback",
                 [](MethodDeck& d) { d.error_feedback = ErrorFeedbackChoice::selected; });
  expect_refused("fp32", "stochastic", [](MethodDeck& d) { d.rounding = Rounding::stochastic; });
  expect_refused("euclidean", "headroom", [](MethodDeck& d) { d.headroom = 0.5; });
}

}  // namespace
}  // namespace minigift
