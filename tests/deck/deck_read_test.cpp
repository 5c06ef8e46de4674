// What a correct deck means: layers, overrides, model decks, methods.

#include "tests/deck/deck_fixture.hpp"

#include <filesystem>
#include <fstream>

namespace minigift {
namespace {

using test::built_in_methods;
using test::parse;

TEST(DeckRead, EmptyDeckHasTheDefaultsOfTheStructs) {
  const Deck deck = parse("");
  EXPECT_EQ(deck.train.steps, TrainDeck().steps);
  EXPECT_EQ(deck.model.rms_epsilon, 1e-5);
  EXPECT_FALSE(deck.optimizer.muon_momentum.has_value());
  EXPECT_EQ(deck.origins.size(), 1u);  // the override of exchange.methods
}

TEST(DeckRead, EveryTypeIsRead) {
  const Deck deck = parse(R"(
[model]
layers = 3
rope_theta = 500000
recompute = true
[train]
compute = "bf16"
learning_rate = 1e-3
[optimizer]
muon_momentum = 0.9
[data]
path = "a \"quoted\" name"
[exchange]
methods = ["fp32", "gift"]
)");
  EXPECT_EQ(deck.model.layers, 3);
  EXPECT_EQ(deck.model.rope_theta, 500000.0);  // an integer where a number is asked for
  EXPECT_TRUE(deck.model.recompute);
  EXPECT_EQ(deck.train.compute, ComputeChoice::bf16);
  EXPECT_EQ(deck.train.learning_rate, 1e-3);
  EXPECT_EQ(deck.optimizer.muon_momentum, 0.9);
  EXPECT_EQ(deck.data.path, "a \"quoted\" name");
  ASSERT_EQ(deck.methods.size(), 2u);
  EXPECT_EQ(deck.methods[1].coordinates, CoordinatesChoice::input_lowrank);
  EXPECT_EQ(deck.origins.at("model.layers"), "test.toml:3:1");
}

TEST(DeckRead, OverridesWinAndTheLastOneStands) {
  const Deck deck = parse("[train]\nsteps = 5\n", {"train.steps=6", "train.steps=7", "train.compute=bf16",
                                                   "train.learning_rate=1", "data.path=runs/some file.txt"});
  EXPECT_EQ(deck.train.steps, 7);
  EXPECT_EQ(deck.train.compute, ComputeChoice::bf16);
  EXPECT_EQ(deck.train.learning_rate, 1.0);
  EXPECT_EQ(deck.data.path, "runs/some file.txt");
  EXPECT_EQ(deck.origins.at("train.steps"), "--set train.steps=7");
}

TEST(DeckRead, OverridesOfLists) {
  EXPECT_EQ(parse("", {"exchange.methods=fp32,gift"}).methods.size(), 2u);
  EXPECT_EQ(parse("", {R"(exchange.methods=["gift", "fp32"])"}).methods[0].name, "gift");
  const Deck deck = parse("", {"exchange.methods=gift", "exchange.gift.layers=*.down_proj.weight"});
  EXPECT_EQ(deck.methods[0].layers, std::vector<std::string>{"*.down_proj.weight"});
}

TEST(DeckRead, MethodStartsFromItsBase) {
  const Deck deck = parse(R"(
[exchange]
methods = ["mine", "gift", "again"]
refresh_period = 7
[exchange.gift]
rank = 8
[exchange.mine]
base = "gift"
format = "e5m2"
[exchange.again]
base = "mine"
rank = 4
)");
  ASSERT_EQ(deck.methods.size(), 3u);
  const MethodDeck& mine = deck.methods[0];
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.base, "gift");
  EXPECT_EQ(mine.rank, 8) << "taken from the table of its base";
  EXPECT_EQ(mine.format, Format::e5m2);
  EXPECT_EQ(mine.refresh_period, 7) << "taken from [exchange]";
  EXPECT_EQ(deck.methods[1].format, Format::e4m3);
  EXPECT_EQ(deck.methods[2].format, Format::e5m2);
  EXPECT_EQ(deck.methods[2].rank, 4);
}

TEST(DeckRead, MethodsOwnValueIsNotReplacedByTheSharedOne) {
  const Deck deck =
      parse("[exchange]\nmethods = [\"gift-paper\", \"gift\"]\nrefresh_period = 7\nguard = 0.9\n");
  EXPECT_EQ(deck.methods[0].refresh_period, 50);
  EXPECT_EQ(deck.methods[1].refresh_period, 7);
  EXPECT_EQ(deck.methods[0].guard, 0.9);
}

TEST(DeckRead, ModelDeckComesFirst) {
  const Deck deck = parse("[model]\ndeck = \"llama-16m\"\nlayers = 3\n");
  const Deck other = parse("[model]\nlayers = 3\n", {"model.deck=llama-16m"});
  EXPECT_EQ(deck.model.name, "llama-16m");
  EXPECT_EQ(deck.model.layers, 3) << "the deck overrides its model deck";
  EXPECT_EQ(other.model.layers, 3);
  EXPECT_FALSE(first_difference(deck, other));
}

TEST(DeckRead, ModelDeckBesideTheDeckWins) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "minigift_deck_test";
  std::filesystem::create_directories(folder / "models");
  std::ofstream(folder / "models" / "llama-16m.toml") << "[model]\nname = \"mine\"\n";
  std::ofstream(folder / "run.toml") << "[model]\ndeck = \"llama-16m\"\n[exchange]\nmethods = [\"fp32\"]\n";
  EXPECT_EQ(load_deck((folder / "run.toml").string(), {}, built_in_methods()).model.name, "mine");
  std::filesystem::remove_all(folder);
}

/// Parameters of the model: per layer two h x h and two h x kv projections, three h x F, two norms; then the
/// final norm, the embedding and the head.
std::int64_t parameter_count(const ModelDeck& m) {
  const std::int64_t kv = m.hidden / m.heads * m.kv_heads;
  return m.layers *
             (2 * m.hidden * m.hidden + 2 * m.hidden * kv + 3 * m.hidden * m.feed_forward + 2 * m.hidden) +
         m.hidden + 2 * m.vocabulary * m.hidden;
}

TEST(DeckRead, ShippedModelDecksHaveTheSizeOfTheirName) {
  const std::vector<std::pair<std::string, double>> sizes = {{"llama-test", 0.15e6}, {"llama-4m", 4e6},
                                                             {"llama-16m", 16e6},    {"llama-60m", 60e6},
                                                             {"llama-300m", 300e6},  {"llama-600m", 600e6}};
  for (const auto& [name, size] : sizes) {
    const Deck deck = parse("[model]\ndeck = \"" + name + "\"\n");
    EXPECT_EQ(deck.model.name, name);
    const std::int64_t count = parameter_count(deck.model);
    EXPECT_NEAR(static_cast<double>(count), size, 0.08 * size) << name;
    EXPECT_EQ((deck.model.hidden / deck.model.heads) % 2, 0) << name;
    // The exact count stands in the file's first comment.
    std::ifstream file(std::string(MINIGIFT_INPUTS_FOLDER) + "/models/" + name + ".toml");
    std::string comment;
    std::getline(file, comment);
    std::erase(comment, ',');
    EXPECT_NE(comment.find(std::to_string(count) + " parameters"), std::string::npos)
        << name << ": " << comment;
  }
}

TEST(DeckRead, ListsOfIntegersAndOfNames) {
  const auto methods = built_in_methods();
  const auto with = [&](const std::string& set) {
    return parse_deck("[exchange]\nmethods = [\"fp32\"]\n", "list", {set}, methods).trace;
  };
  EXPECT_EQ(with("trace.steps=50,200").steps, (std::vector<std::int64_t>{50, 200}));
  EXPECT_EQ(with("trace.steps=[50, 200]").steps, (std::vector<std::int64_t>{50, 200}));
  EXPECT_EQ(with("trace.steps=50").steps, std::vector<std::int64_t>{50});
  EXPECT_TRUE(with("trace.steps=[]").steps.empty());
  EXPECT_EQ(with("trace.content=gradient,sketch").content,
            (std::vector<TraceChoice>{TraceChoice::gradient, TraceChoice::sketch}));
  const auto message = [&](const std::string& set) {
    try {
      with(set);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("trace.steps=50,x").find("a list of integers, at least 1"), std::string::npos);
  EXPECT_NE(message("trace.steps=0,5").find("out of range"), std::string::npos);
  EXPECT_NE(message("trace.content=gradient,scetch").find("sketch"), std::string::npos);
}

}  // namespace
}  // namespace minigift
