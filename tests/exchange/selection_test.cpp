// Which tensors take the coordinates.
#include "miniapp/exchange/selection.hpp"

#include "tests/exchange/fixture.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace minigift {
namespace {

using test::method_with;

LayerSelection select(const std::vector<std::string>& layers, const ParameterRegistry& registry,
                      double fraction = 0.5) {
  return {method_with("gift", 2,
                      [&](MethodDeck& deck) {
                        deck.layers = layers;
                        deck.auto_fraction = fraction;
                      }),
          selection_candidates(registry)};
}

std::vector<std::string> names(const LayerSelection& selection, const ParameterRegistry& registry) {
  std::vector<std::string> list;
  for (int t = 0; t < registry.size(); ++t) {
    if (selection.selected(t)) list.push_back(registry[t].name);
  }
  return list;
}

TEST(Selection, ByPatternListAndFile) {
  const ParameterRegistry registry(test::small_shape());
  const std::vector<std::string> down = {"model.layers.0.mlp.down_proj.weight",
                                         "model.layers.1.mlp.down_proj.weight"};
  EXPECT_EQ(names(select({"*.down_proj.weight"}, registry), registry), down);
  EXPECT_EQ(names(select(down, registry), registry), down);
  EXPECT_EQ(select({"all"}, registry).selected_tensors(), 2 * 7);
  EXPECT_EQ(names(select({"lm_head.weight"}, registry), registry),
            std::vector<std::string>{"lm_head.weight"});

  const std::string path = ::testing::TempDir() + "selection.txt";
  std::ofstream(path) << "# most vulnerable first\n" << down[1] << "   # a comment\n\n  " << down[0] << "\n";
  EXPECT_EQ(names(select({"file:" + path}, registry), registry), down);
  std::remove(path.c_str());
}

void expect_error(const std::vector<std::string>& layers, const std::string& word) {
  const ParameterRegistry registry(test::small_shape());
  try {
    select(layers, registry);
    FAIL() << "no error that names " << word;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(Selection, ErrorsNameTheEntry) {
  expect_error({"*.down_projj.weight"}, "*.down_projj.weight");
  expect_error({"file:/no/such/file"}, "/no/such/file");
  expect_error({"model.embed_tokens.weight"}, "model.embed_tokens.weight");
  expect_error({"auto", "*.down_proj.weight"}, "auto");
}

TEST(Selection, AutomaticChoiceTakesTheLargestSavingPerParameter) {
  const ParameterRegistry registry(test::small_shape());
  LayerSelection selection = select({"auto"}, registry, 0.3);
  const int favourite = registry.find("model.layers.1.self_attn.v_proj.weight");
  for (int refresh = 0; refresh < 3; ++refresh) {
    ASSERT_TRUE(selection.is_profiling());
    for (int t = 0; t < registry.size(); ++t) {
      if (!selection.considered(t)) continue;
      // gamma^2 = 0.9 everywhere, 0.1 for the favourite, which is also the smallest.
      selection.report(t, {t == favourite ? 0.1 : 0.9, 1.0});
    }
    selection.choose();
    EXPECT_TRUE(selection.selected(favourite));
  }
  EXPECT_FALSE(selection.is_profiling());
  std::int64_t total = 0;
  for (const Parameter& p : registry)
    total += is_hidden_matrix(p.role) ? p.size() : 0;
  EXPECT_LE(static_cast<double>(selection.selected_parameters()), 0.3 * static_cast<double>(total));
  EXPECT_GT(selection.selected_tensors(), 1);
}

TEST(Selection, NothingIsChosenThatWouldLose) {
  const ParameterRegistry registry(test::small_shape());
  LayerSelection selection = select({"auto"}, registry, 1.0);
  for (int t = 0; t < registry.size(); ++t) {
    if (selection.considered(t)) selection.report(t, {t % 2 == 0 ? 1.2 : 0.5, 1.0});
  }
  selection.choose();
  for (int t = 0; t < registry.size(); ++t) {
    EXPECT_EQ(selection.selected(t), selection.considered(t) && t % 2 == 1) << registry[t].name;
  }
}

}  // namespace
}  // namespace minigift
