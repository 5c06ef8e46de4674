// Named methods and what they resolve to.
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
  EXPECT_EQ(names, (std::vector<std::string>{"fp32", "bf16", "euclidean", "euclidean-block512", "gift",
                                             "gift-paper", "gift-literal", "gift-a2a", "gift-hierarchical",
                                             "int8-block128", "gift-int8"}));
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

}  // namespace
}  // namespace minigift
