// The effective deck as TOML, text, hash and difference, and the documentation: all from the one list of
// keys.

#include "miniapp/deck/value_text.hpp"
#include "tests/deck/deck_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace minigift {
namespace {

using test::built_in_methods;
using test::parse;

/// A deck in which no value is its default.
Deck changed_deck() {
  return parse(R"(
[model]
deck = "llama-4m"
rope_theta = 123456.789
rms_epsilon = 1e-300
recompute = true
[data]
path = "tab\tquote\"backslash\\ umlaut ü"
synthetic_exponent = 0.1
[train]
steps = 9007199254740993
compute = "bf16"
learning_rate = 3e-4
[optimizer]
muon_nesterov = false
newton_schulz_steps = 6
[exchange]
methods = ["gift-paper", "mine", "fp32"]
overlap = true
[exchange.mine]
base = "gift"
layers = ["*.down_proj.weight", "a\\b"]
guard = 0.5
[output]
directory = "runs/x"
figures = false
)");
}

TEST(DeckPrint, TomlParsesBackToTheSameDeck) {
  const Deck deck = changed_deck();
  const Deck again = parse_deck(to_toml(deck), "effective.toml", {}, built_in_methods());
  const auto difference = first_difference(deck, again);
  EXPECT_FALSE(difference) << difference->key << ": " << difference->first << " / " << difference->second;
  EXPECT_EQ(to_toml(again), to_toml(deck));
  EXPECT_EQ(hash(again), hash(deck));
  EXPECT_EQ(again.data.path, "tab\tquote\"backslash\\ umlaut ü");
  EXPECT_EQ(again.train.steps, 9007199254740993);  // 2^53 + 1: not through a double
  EXPECT_FALSE(again.optimizer.muon_momentum.has_value());
}

TEST(DeckPrint, NumbersReadBackExactly) {
  for (const double value : {0.1, 1.0, 1e22, 1e-5, 5e-324, 1.7976931348623157e308, -0.0, 10000.0, 1.0 / 3}) {
    const RawTable table = parse_toml("value = " + value_text(value) + "\n", "t");
    ASSERT_TRUE(std::holds_alternative<double>(table[0].value.value)) << value_text(value);
    EXPECT_EQ(std::get<double>(table[0].value.value), value);
  }
  const std::string awkward = "a\nb\x01\"\\\x7f'";
  EXPECT_EQ(std::get<std::string>(parse_toml("v = " + toml_string(awkward), "t")[0].value.value), awkward);
}

TEST(DeckPrint, HashAndDifferenceSeeEveryKey) {
  const Deck deck = changed_deck();
  for (const DeckValue& value : effective_values(deck)) {
    if (value.key == "exchange.methods" || value.key.ends_with(".base")) continue;
    // Another valid value for this key, found by trying.
    std::optional<Deck> other;
    for (const char* text : {"true",   "false",        "1",          "2",          "0.25",
                             "x",      "fp32",         "bf16",       "e4m3",       "e5m2",
                             "text",   "synthetic",    "none",       "gcide",      "constant",
                             "cosine", "muon",         "adamw",      "moonlight",  "megatron",
                             "tail",   "edge",         "euclidean",  "input-full", "tensor",
                             "row",    "nearest-even", "stochastic", "synced",     "local",
                             "native", "a2a",          "off",        "all",        "64",
                             "host",   "nccl",         "gradient",   "backward",   "timed",
                             "first",  "sleep"}) {
      try {
        const std::string toml = to_toml(deck);
        const Deck candidate = parse_deck(toml, "e.toml", {value.key + "=" + text}, built_in_methods());
        if (!first_difference(deck, candidate)) continue;
        other = candidate;
        break;
      } catch (const UsageError&) {
        // not a value of this key
      }
    }
    ASSERT_TRUE(other) << "no other value found for " << value.key;
    const auto difference = first_difference(deck, *other);
    EXPECT_EQ(difference->key, value.key);
    EXPECT_EQ(difference->first, value.value);
    EXPECT_NE(hash(*other), hash(deck)) << value.key;
  }
}

TEST(DeckPrint, DifferenceInMethodsShowsWhatIsAbsent) {
  const Deck one = parse("[exchange]\nmethods = [\"fp32\"]\n");
  const Deck two = parse("[exchange]\nmethods = [\"fp32\", \"gift\"]\n");
  EXPECT_EQ(first_difference(one, two)->key, "exchange.methods");
  Deck three = one;
  three.optimizer.muon_momentum = 0.5;
  EXPECT_EQ(first_difference(one, three)->first, "(absent)");
  EXPECT_EQ(first_difference(three, one)->second, "(absent)");
}

TEST(DeckPrint, TextMarksWhatWasSetAndAlignsUnits) {
  const std::string text = to_text(parse("[train]\nsteps = 5\nsequence_length = 64\n"));
  EXPECT_NE(text.find("\n* steps "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  seed "), std::string::npos) << text;
  EXPECT_NE(text.find("(as muon_preset)"), std::string::npos) << text;
  const auto column = [&](const std::string& start, const std::string& word) {
    const std::size_t line = text.find("\n" + start + " ");
    return text.find(word, line) - line;
  };
  EXPECT_EQ(column("* steps", " 5"), column("* sequence_length", " 64"));
  EXPECT_EQ(column("* sequence_length", "tokens"), column("  micro_batch", "sequences"));
}

TEST(DeckPrint, DocumentationNamesEveryKeyOnceWithItsHelp) {
  const std::string help = deck_help(built_in_methods());
  const std::string markdown = deck_markdown(built_in_methods());
  std::set<std::string> seen;
  const auto check = [&](const std::string& section, const auto& defaults) {
    std::decay_t<decltype(defaults)>::fields(defaults, [&](const auto& member, const Key& key) {
      EXPECT_FALSE(key.help.empty()) << key.name;
      EXPECT_TRUE(seen.insert(section + "." + std::string(key.name)).second) << "twice: " << key.name;
      EXPECT_NE(help.find("  " + std::string(key.name) + " = "), std::string::npos) << key.name;
      EXPECT_NE(markdown.find("| `" + std::string(key.name) + "` |"), std::string::npos) << key.name;
      EXPECT_NE(help.find(allowed_text(member, key)), std::string::npos) << key.name;
    });
  };
  const Deck defaults;
  Deck::sections(defaults, check);
  check("exchange.NAME", MethodDeck());
  EXPECT_NE(help.find("fp32, euclidean, gift, gift-paper"), std::string::npos);
  EXPECT_GT(seen.size(), 60u);
}

TEST(DeckPrint, DefaultsAreValidValues) {
  // Each default, written and read back, passes its own range check.
  const auto check = [](const std::string&, const auto& defaults) {
    auto copy = defaults;
    std::decay_t<decltype(defaults)>::fields(copy, [](auto& member, const Key& key) {
      const std::string text = value_text(member);
      if (text.empty()) return;
      EXPECT_EQ(assign(parse_toml("v = " + text, "t")[0].value, key, member), "")
          << key.name << " = " << text;
    });
  };
  const Deck defaults;
  Deck::sections(defaults, check);
  check("exchange.NAME", MethodDeck());
}

TEST(DeckPrint, NamesOfFormatsAreThoseOfTheKernels) {
  for (const Format format : {Format::fp32, Format::bf16, Format::e4m3, Format::e5m2, Format::int8}) {
    EXPECT_EQ(name_of(format), name(format));
  }
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::stochastic}) {
    EXPECT_EQ(name_of(rounding), name(rounding));
  }
  EXPECT_EQ(name_of(Completion::tail), "tail");
  EXPECT_EQ(name_of(Completion::edge), "edge");
  EXPECT_EQ(name_of(Completion::mean), "mean");
}

}  // namespace
}  // namespace minigift
