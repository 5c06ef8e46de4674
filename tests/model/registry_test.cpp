// Shapes, exact counts, names, offsets and patterns.

#include "kernels/error.hpp"
#include "miniapp/deck/deck.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/model/shape.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace minigift {
namespace {

LlamaShape shape(std::int64_t hidden, std::int64_t layers, std::int64_t heads, std::int64_t feed_forward,
                 std::int64_t vocabulary) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .feed_forward = feed_forward,
          .vocabulary = vocabulary};
}

struct Named {
  const char* name;
  LlamaShape shape;
  std::int64_t parameters;
};

// Counts worked out by hand from L(4h^2 + 3hf + 2h) + h + 2Vh.
const Named models[] = {
    {"llama-test", shape(64, 2, 4, 192, 256), 139584},
    {"llama-4m", shape(256, 5, 4, 704, 256), 4147968},
    {"llama-16m", shape(384, 9, 6, 1024, 256), 16129152},
    {"llama-60m", shape(640, 12, 10, 1728, 256), 59817600},
    {"llama-300m", shape(1024, 16, 16, 2688, 50304), 302285824},
    {"llama-600m", shape(1280, 24, 20, 3392, 50304), 598734080},
};

TEST(ParameterRegistry, InputDecksHoldTheNamedShapes) {
  for (const Named& model : models) {
    const std::string text = fmt::format("[model]\ndeck = \"{}\"\n", model.name);
    const ModelDeck deck = parse_deck(text, "test.toml", {}, built_in_methods()).model;
    EXPECT_EQ(deck.name, model.name);
    EXPECT_EQ(deck.layers, model.shape.layers) << model.name;
    EXPECT_EQ(deck.hidden, model.shape.hidden) << model.name;
    EXPECT_EQ(deck.heads, model.shape.heads) << model.name;
    EXPECT_EQ(deck.kv_heads, model.shape.kv_heads) << model.name;
    EXPECT_EQ(deck.feed_forward, model.shape.feed_forward) << model.name;
    EXPECT_EQ(deck.vocabulary, model.shape.vocabulary) << model.name;
  }
}

TEST(ParameterRegistry, CountsAreExact) {
  for (const Named& model : models) {
    EXPECT_EQ(model.shape.parameter_count(), model.parameters) << model.name;
    const ParameterRegistry registry(model.shape);
    EXPECT_EQ(registry.total(), model.parameters) << model.name;
    std::int64_t sum = 0;
    for (const Parameter& parameter : registry)
      sum += parameter.size();
    EXPECT_EQ(sum, model.parameters) << model.name;
  }
}

TEST(ParameterRegistry, LargeShapesHaveTheQuotedSizes) {
  EXPECT_NEAR(static_cast<double>(shape(1024, 16, 16, 2688, 50304).parameter_count()) / 1e6, 302.3, 0.05);
  EXPECT_NEAR(static_cast<double>(shape(1280, 24, 20, 3392, 50304).parameter_count()) / 1e6, 598.7, 0.05);
}

TEST(ParameterRegistry, GroupedQueryAttentionShrinksKeysAndValuesOnly) {
  LlamaShape grouped = shape(64, 2, 4, 192, 256);
  grouped.kv_heads = 2;
  EXPECT_EQ(grouped.parameter_count(), 139584 - 2 * 2 * 32 * 64);
  const ParameterRegistry registry(grouped);
  EXPECT_EQ(registry.total(), grouped.parameter_count());
  EXPECT_EQ(registry[registry.find("model.layers.1.self_attn.k_proj.weight")].rows, 32);
  EXPECT_EQ(registry[registry.find("model.layers.1.self_attn.q_proj.weight")].rows, 64);
}

TEST(ParameterRegistry, TensorsAreAlignedAndDoNotOverlap) {
  const ParameterRegistry registry(shape(36, 3, 6, 50, 101));
  std::int64_t end = 0;
  for (const Parameter& parameter : registry) {
    EXPECT_EQ(parameter.offset % ParameterRegistry::alignment, 0) << parameter.name;
    EXPECT_GE(parameter.offset, end) << parameter.name;
    EXPECT_LT(parameter.offset - end, ParameterRegistry::alignment) << parameter.name;
    end = parameter.offset + parameter.size();
  }
  EXPECT_GE(registry.flat_size(), end);
  EXPECT_LT(registry.flat_size() - end, ParameterRegistry::alignment);
  EXPECT_GT(registry.flat_size(), registry.total()) << "this shape was chosen to need padding";
}

TEST(ParameterRegistry, OrderIsForwardOrder) {
  const ParameterRegistry registry(shape(64, 2, 4, 192, 256));
  ASSERT_EQ(registry.size(), 2 * 9 + 3);
  EXPECT_EQ(registry[registry.embedding()].name, "model.embed_tokens.weight");
  EXPECT_EQ(registry[ParameterRegistry::index(0, input_norm)].name, "model.layers.0.input_layernorm.weight");
  EXPECT_EQ(registry[ParameterRegistry::index(1, q_proj)].name, "model.layers.1.self_attn.q_proj.weight");
  EXPECT_EQ(registry[ParameterRegistry::index(1, post_attention_norm)].name,
            "model.layers.1.post_attention_layernorm.weight");
  EXPECT_EQ(registry[ParameterRegistry::index(1, down_proj)].name, "model.layers.1.mlp.down_proj.weight");
  EXPECT_EQ(registry[registry.final_norm()].name, "model.norm.weight");
  EXPECT_EQ(registry[registry.head()].name, "lm_head.weight");
  std::set<std::string> names;
  for (const Parameter& parameter : registry)
    names.insert(parameter.name);
  EXPECT_EQ(static_cast<int>(names.size()), registry.size());
}

TEST(ParameterRegistry, LinearInputsAreSharedByTheLayersTheyFeed) {
  const ParameterRegistry registry(shape(64, 2, 4, 192, 256));
  const auto& sites = registry.input_sites();
  ASSERT_EQ(sites.size(), 2u * 4u + 1u);
  const auto site = [&](LayerParameter which) {
    return registry[ParameterRegistry::index(1, which)].input_site;
  };
  EXPECT_EQ(site(q_proj), ParameterRegistry::input_site(1, attention_input));
  EXPECT_EQ(site(k_proj), site(q_proj));
  EXPECT_EQ(site(v_proj), site(q_proj));
  EXPECT_EQ(site(o_proj), ParameterRegistry::input_site(1, output_input));
  EXPECT_EQ(site(gate_proj), ParameterRegistry::input_site(1, mlp_input));
  EXPECT_EQ(site(up_proj), site(gate_proj));
  EXPECT_EQ(site(down_proj), ParameterRegistry::input_site(1, down_input));
  EXPECT_EQ(site(input_norm), -1);
  EXPECT_EQ(registry[registry.embedding()].input_site, -1);
  for (int index = 0; index < static_cast<int>(sites.size()); ++index)
    for (const int parameter : sites[static_cast<std::size_t>(index)].parameters) {
      EXPECT_EQ(registry[parameter].input_site, index);
      EXPECT_EQ(registry[parameter].columns, sites[static_cast<std::size_t>(index)].width);
    }
}

TEST(ParameterRegistry, PatternsSelectByName) {
  const ParameterRegistry registry(shape(64, 12, 4, 192, 256));
  EXPECT_EQ(registry.match("*").size(), static_cast<std::size_t>(registry.size()));
  EXPECT_EQ(registry.match("*.mlp.down_proj.weight").size(), 12u);
  EXPECT_EQ(registry.match("model.layers.?.mlp.down_proj.weight").size(), 10u);
  EXPECT_EQ(registry.match("lm_head.weight"), std::vector<int>{registry.head()});
  EXPECT_TRUE(registry.match("down_proj").empty());
  EXPECT_TRUE(glob_match("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(glob_match("a*b*c", "a-b-b-d"));
  EXPECT_TRUE(glob_match("**", ""));
  EXPECT_FALSE(glob_match("?", ""));
}

TEST(ParameterRegistry, UnknownNameSuggestsTheNearest) {
  const ParameterRegistry registry(shape(64, 2, 4, 192, 256));
  try {
    registry.find("model.layers.1.mlp.down_proj.wieght");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("model.layers.1.mlp.down_proj.weight"), std::string::npos);
  }
}

TEST(LlamaShape, ImpossibleShapesNameBothKeys) {
  const auto message = [](const LlamaShape& bad) -> std::string {
    try {
      bad.check();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  const auto names = [&](const LlamaShape& bad, const char* first, const char* second) {
    const std::string text = message(bad);
    EXPECT_NE(text.find(first), std::string::npos) << text;
    EXPECT_NE(text.find(second), std::string::npos) << text;
  };
  LlamaShape bad = shape(66, 2, 4, 192, 256);
  names(bad, "model.hidden = 66", "model.heads = 4");
  bad = shape(64, 2, 4, 192, 256);
  bad.kv_heads = 3;
  names(bad, "model.heads = 4", "model.kv_heads = 3");
  bad = shape(12, 2, 4, 192, 256);
  names(bad, "model.hidden = 12", "head width 3");
  bad = shape(64, 0, 4, 192, 256);
  names(bad, "model.layers = 0", "at least 1");
  EXPECT_EQ(message(shape(64, 2, 4, 192, 256)), "");
}

TEST(LlamaShape, FlopsAreTwoPerWeightPlusCausalAttention) {
  const LlamaShape model = shape(64, 2, 4, 192, 256);
  // Every matrix but the embedding is multiplied; norms are not counted.
  const double weights = 139584.0 - 256 * 64 - 5 * 64;
  // One token attends to itself only: 2D for the score, 2D for the sum, per head and layer.
  EXPECT_DOUBLE_EQ(model.forward_flops_per_token(1), 2 * weights + 2 * 4 * 64);
  EXPECT_DOUBLE_EQ(model.forward_flops_per_token(31), 2 * weights + 16 * 2 * 4 * 64);
}

}  // namespace
}  // namespace minigift
