// Every way in which a deck can be wrong gives one line that says where, which key, which value, and what is
// allowed.

#include "tests/deck/deck_fixture.hpp"

#include <filesystem>
#include <fstream>

namespace minigift {
namespace {

using test::built_in_methods;
using test::expect_parts;
using test::parse;
using test::usage_error;

struct ErrorCase {
  std::string name;
  std::string toml;
  std::vector<std::string> overrides;
  std::vector<std::string> parts;
};

class DeckError : public testing::TestWithParam<ErrorCase> {};

TEST_P(DeckError, SaysWhatAndWhere) {
  const std::string message = usage_error([] { parse(GetParam().toml, GetParam().overrides); });
  expect_parts(message, GetParam().parts);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DeckError,
    testing::Values(
        ErrorCase{"unknown_key",
                  "[train]\n  step = 5\n",
                  {},
                  {"test.toml:2:3:", "'train.step' = 5", "'train.steps'"}},
        ErrorCase{"unknown_section", "\n[trian]\n", {}, {"test.toml:2:2:", "'trian'", "nearest: 'train'"}},
        ErrorCase{"section_is_a_value", "train = 5\n", {}, {"test.toml:1:1:", "[train]", "an integer"}},
        ErrorCase{"string_for_integer",
                  "[train]\nsteps = \"ten\"\n",
                  {},
                  {"test.toml:2:1:", "train.steps = ", "ten", "is a string", "an integer, at least 1"}},
        ErrorCase{"number_for_integer", "[train]\nsteps = 1.5\n", {}, {"train.steps = 1.5", "is a number"}},
        ErrorCase{
            "integer_for_string", "[data]\npath = 5\n", {}, {"data.path = 5", "is an integer", "a string"}},
        ErrorCase{"integer_for_boolean",
                  "[exchange]\noverlap = 1\n",
                  {},
                  {"exchange.overlap = 1", "true or false"}},
        ErrorCase{"integers_for_list",
                  "[exchange]\nmethods = [1, 2]\n",
                  {},
                  {"exchange.methods", "list of strings"}},
        ErrorCase{"table_for_key", "[exchange.guard]\nrank = 1\n", {}, {"exchange.guard", "is a table"}},
        ErrorCase{"date", "[data]\npath = 2020-01-01\n", {}, {"data.path = 2020-01-01", "something else"}},
        ErrorCase{"too_small", "[train]\nsteps = 0\n", {}, {"train.steps = 0 is out of range", "at least 1"}},
        ErrorCase{"open_end",
                  "[data]\nvalidation_fraction = 1\n",
                  {},
                  {"validation_fraction = 1", "above 0 and below 1"}},
        ErrorCase{"too_large",
                  "[exchange]\nmax_message_bytes = 2147483648\n",
                  {},
                  {"2147483648 is out of range", "at most 2147483647"}},
        ErrorCase{"not_a_number",
                  "[train]\nlearning_rate = nan\n",
                  {},
                  {"train.learning_rate = nan", "out of range"}},
        ErrorCase{"infinite", "[train]\nclip_norm = inf\n", {}, {"train.clip_norm = inf", "a finite number"}},
        ErrorCase{
            "choice",
            "[train]\ncompute = \"fp23\"\n",
            {},
            {"test.toml:2:1:", "train.compute", "fp23", "\"fp32\", \"tf32\", \"bf16\"", "nearest: 'fp32'"}},
        ErrorCase{"optional_range",
                  "[optimizer]\nmuon_momentum = 1\n",
                  {},
                  {"optimizer.muon_momentum = 1", "below 1"}},
        ErrorCase{"unknown_method",
                  "[exchange]\nmethods = [\"gfit\"]\n",
                  {},
                  {"test.toml:2:1:", "'gfit'", "fp32, euclidean, gift", "nearest: 'gift'"}},
        ErrorCase{"no_method", "[exchange]\nmethods = []\n", {}, {"test.toml:2:1:", "names no method"}},
        ErrorCase{"method_twice", "[exchange]\nmethods = [\"gift\", \"gift\"]\n", {}, {"'gift' twice"}},
        ErrorCase{"method_without_base",
                  "[exchange.gitf]\nrank = 4\n",
                  {},
                  {"test.toml:1:11:", "[exchange.gitf]", "needs a base", "nearest: 'gift'"}},
        ErrorCase{"method_unknown_base",
                  "[exchange.mine]\nbase = \"gitf\"\n",
                  {},
                  {"test.toml:2:1:", "'gitf'", "'gift'"}},
        ErrorCase{"method_circle",
                  "[exchange.a]\nbase = \"b\"\n[exchange.b]\nbase = \"a\"\n",
                  {},
                  {"exchange.b.base", "leads back to itself"}},
        ErrorCase{"method_key",
                  "[exchange.gift]\nrnak = 4\n",
                  {},
                  {"'exchange.gift.rnak' = 4", "'exchange.gift.rank'"}},
        ErrorCase{"method_value",
                  "[exchange.gift]\nformat = \"e4m4\"\n",
                  {},
                  {"exchange.gift.format", "e4m4", "nearest: 'e4m3'"}},
        ErrorCase{"method_name", "[exchange.\"a b\"]\nbase = \"gift\"\n", {}, {"'a b'", "letters, digits"}},
        ErrorCase{"model_deck",
                  "[model]\ndeck = \"lama-16m\"\n",
                  {},
                  {"test.toml:2:1:", "model.deck", "lama-16m", "nearest: 'llama-16m'"}},
        ErrorCase{"model_deck_type", "[model]\ndeck = 16\n", {}, {"model.deck = 16", "is an integer"}},
        ErrorCase{"syntax", "[train]\nsteps = = 5\n", {}, {"test.toml:2:", "TOML syntax"}},
        ErrorCase{"duplicate_key", "[train]\nsteps = 5\nsteps = 6\n", {}, {"test.toml:3:", "TOML syntax"}},
        ErrorCase{
            "set_unknown", "", {"train.step=5"}, {"--set train.step=5", "'train.step'", "'train.steps'"}},
        ErrorCase{
            "set_type", "", {"train.steps=many"}, {"--set train.steps=many", "is a string", "an integer"}},
        ErrorCase{"set_section", "", {"steps=5"}, {"--set steps=5", "section.key=value"}},
        ErrorCase{"set_no_value", "", {"train.steps"}, {"--set train.steps", "section.key=value"}},
        ErrorCase{"set_empty_section", "", {"train..steps=5"}, {"--set train..steps=5", "section.key=value"}},
        ErrorCase{"set_into_value", "", {"train.steps.x=4"}, {"train.steps = { x = 4 } is a table"}},
        ErrorCase{"key_with_line_break",
                  "[train]\n\"st\\neps\" = 5\n",
                  {},
                  {"'train.st eps' = 5", "'train.steps'"}},
        ErrorCase{"set_second_line",
                  "",
                  {"train.steps=5\nseed = 6"},
                  {"--set train.steps=5 seed = 6", "is a string"}}),
    [](const auto& info) { return info.param.name; });

TEST(DeckErrorFile, MissingFolderAndNestedModelDeck) {
  expect_parts(usage_error([] { load_deck("no/such.toml", {}, built_in_methods()); }),
               {"no/such.toml", "No such file"});
  expect_parts(usage_error([] { load_deck(testing::TempDir(), {}, built_in_methods()); }), {"is a folder"});

  const auto folder = std::filesystem::path(testing::TempDir()) / "minigift_deck_error_test";
  std::filesystem::create_directories(folder / "models");
  std::ofstream(folder / "models" / "nested.toml") << "[model]\ndeck = \"llama-16m\"\n";
  std::ofstream(folder / "models" / "more.toml") << "[model]\nlayers = 2\n[train]\nsteps = 5\n";
  std::ofstream(folder / "models" / "wrong.toml") << "[model]\n\nlayer = 2\n";
  for (const char* name : {"nested", "more", "wrong"}) {
    std::ofstream(folder / (std::string(name) + ".toml")) << "[model]\ndeck = \"" << name << "\"\n";
  }
  const auto load = [&](const char* name) {
    return usage_error([&] { load_deck((folder / name).string(), {}, built_in_methods()); });
  };
  expect_parts(load("nested.toml"), {"models/nested.toml:2:1:", "another"});
  expect_parts(load("more.toml"), {"models/more.toml:3:2:", "[train]"});
  expect_parts(load("wrong.toml"), {"models/wrong.toml:3:1:", "'model.layer' = 2", "'model.layers'"});
  std::filesystem::remove_all(folder);
}

TEST(DeckErrorFile, NothingIsSuggestedWhenNothingIsNear) {
  const std::string message = usage_error([] { parse("[zzzzzzzzzzzz]\n"); });
  EXPECT_EQ(message.find("nearest"), std::string::npos) << message;
}

}  // namespace
}  // namespace minigift
