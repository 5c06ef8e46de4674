// Conditions between keys: the message names both keys and their values.

#include "tests/deck/deck_fixture.hpp"

namespace minigift {
namespace {

using test::expect_parts;
using test::parse;
using test::usage_error;

std::string problem(const std::string& toml, std::int64_t ranks,
                    const std::vector<std::string>& overrides = {}) {
  return usage_error([&] { validate(parse(toml, overrides), ranks); });
}

TEST(DeckValidate, DefaultDeckIsValid) {
  validate(parse(""), 1);
  validate(parse(""), 2);
}

TEST(DeckValidate, Heads) {
  expect_parts(problem("[model]\nhidden = 64\nheads = 3\n", 1),
               {"test.toml:3:1, test.toml:2:1: ", "model.heads = 3", "model.hidden = 64", "divide"});
  expect_parts(problem("[model]\nhidden = 12\nheads = 4\n", 1), {"hidden/heads = 3", "even"});
  expect_parts(problem("[model]\nheads = 4\nkv_heads = 3\n", 1), {"model.kv_heads = 3", "model.heads = 4"});
}

TEST(DeckValidate, Batches) {
  const std::string deck = "[train]\nglobal_batch = 8\nmicro_batch = 4\n";
  validate(parse(deck), 2);
  expect_parts(problem(deck, 3), {"train.global_batch = 8", "train.micro_batch = 4", "3 ranks"});
  expect_parts(problem(deck, 4), {"4 ranks"});
  expect_parts(problem(deck, 1, {"train.micro_batch=3"}), {"--set train.micro_batch=3", "1 rank"});
  // 2^62 * 4 ranks would overflow.
  expect_parts(problem("[train]\nglobal_batch = 4611686018427387904\nmicro_batch = 4611686018427387904\n", 4),
               {"4 ranks"});
}

TEST(DeckValidate, WholeNodes) {
  const std::string deck = "[train]\nglobal_batch = 24\nmicro_batch = 1\n[exchange]\nranks_per_node = 2\n";
  validate(parse(deck), 4);
  expect_parts(problem(deck, 3), {"test.toml:5:1: ", "exchange.ranks_per_node = 2", "3 ranks"});
}

TEST(DeckValidate, ValidationByWholeMicroBatches) {
  expect_parts(problem("[train]\nmicro_batch = 8\nvalidation_sequences = 12\n", 1),
               {"train.validation_sequences = 12", "train.micro_batch = 8"});
}

TEST(DeckValidate, DataAndVocabulary) {
  expect_parts(problem("[data]\nsource = \"text\"\n", 1),
               {"test.toml:2:1:", "data.source", "data.path = \"\""});
  expect_parts(problem("[model]\nvocabulary = 200\n[data]\nsource = \"text\"\npath = \"x\"\n", 1),
               {"model.vocabulary = 200", "at least 256"});
  expect_parts(problem("[data]\nsynthetic_vocabulary = 300\n", 1),
               {"data.synthetic_vocabulary = 300", "model.vocabulary = 256"});
}

TEST(DeckValidate, Schedule) {
  expect_parts(problem("[train]\nlearning_rate = 1e-5\n", 1), {"train.minimum_learning_rate", "1e-05"});
  validate(parse("[train]\nlearning_rate = 1e-5\nschedule = \"constant\"\n"), 1);
  expect_parts(problem("[train]\nsteps = 5\nwarmup_steps = 6\n", 1),
               {"train.warmup_steps = 6", "train.steps = 5"});
}

TEST(DeckValidate, Methods) {
  const std::string gift = "[exchange]\nmethods = [\"gift\"]\n[exchange.gift]\n";
  expect_parts(problem(gift + "format = \"int8\"\n", 1),
               {"exchange.gift.format = \"int8\"", "exchange.gift.reduction = \"native\"", "a2a"});
  validate(parse(gift + "format = \"int8\"\nreduction = \"a2a\"\nscale = \"carried\"\n"), 1);
  expect_parts(problem(gift + "reduction = \"a2a\"\n", 1), {"exchange.gift.reduction = \"a2a\"", "carried"});
  expect_parts(problem(gift + "scale = \"carried\"\n", 1), {"exchange.gift.scale", "a2a", "hierarchical"});
  expect_parts(problem(gift + "reduction = \"hierarchical\"\n", 1),
               {"exchange.gift.reduction = \"hierarchical\"", "needs scale = \"carried\""});
  validate(parse(gift + "format = \"int8\"\nreduction = \"hierarchical\"\nscale = \"carried\"\n"), 1);
  expect_parts(problem(gift + "scale = \"local\"\n", 1), {"exchange.gift.allow_divergence = false"});
  validate(parse(gift + "scale = \"local\"\nallow_divergence = true\n"), 1);
  expect_parts(problem(gift + "headroom = 0.5\n", 1), {"exchange.gift.headroom = 0.5", "saturate"});
  expect_parts(problem(gift + "coordinates = \"euclidean\"\nerror_feedback = \"selected\"\n", 1),
               {"exchange.gift.error_feedback", "exchange.gift.coordinates"});
  const std::string fp32 = "[exchange]\nmethods = [\"fp32\"]\n[exchange.fp32]\n";
  expect_parts(problem(fp32 + "error_feedback = \"all\"\n", 1),
               {"exchange.fp32.error_feedback", "exchange.fp32.format"});
  expect_parts(problem(fp32 + "rounding = \"stochastic\"\n", 1),
               {"exchange.fp32.rounding", "exchange.fp32.format"});
  expect_parts(problem(fp32 + "granularity = \"row\"\n", 1),
               {"exchange.fp32.granularity", "exchange.fp32.format"});
  expect_parts(problem(gift + "rank = 193\n", 1), {"exchange.gift.rank = 193", "model.feed_forward = 192"});
  expect_parts(problem(gift + "layers = [\"auto\", \"*.q_proj.weight\"]\n", 1),
               {"exchange.gift.layers", "alone"});
  expect_parts(problem(gift + "layers = []\n", 1), {"exchange.gift.layers", "nothing"});
}

// [comm] reads neither a model nor data: a deck that trains nothing may be run by any number of ranks.
TEST(DeckValidate, CommNeedsNoModel) {
  validate_comm(parse("[comm]\nminimum_bytes = 1024\n"), 7);
  expect_parts(problem("[comm]\nminimum_bytes = 1024\n", 7), {"train.global_batch"});
}

TEST(DeckValidate, Comm) {
  const auto comm_problem = [](const std::string& toml, std::int64_t ranks) {
    return usage_error([&] { validate_comm(parse(toml), ranks); });
  };
  expect_parts(comm_problem("[comm]\nminimum_bytes = 8192\nmaximum_bytes = 4096\n", 2),
               {"test.toml:2:1", "comm.minimum_bytes = 8192", "comm.maximum_bytes = 4096"});
  expect_parts(comm_problem("[comm]\nminimum_bytes = 4098\n", 2), {"comm.minimum_bytes = 4098", "4"});
  expect_parts(comm_problem("[comm]\nformats = []\n", 2), {"comm.formats", "nothing"});
  expect_parts(comm_problem("[comm]\nformats = [\"bf16\", \"fp32\", \"bf16\"]\n", 2),
               {"comm.formats", "twice"});
  expect_parts(comm_problem("[comm]\ncollectives = [\"a2a\", \"a2a\"]\n", 2), {"comm.collectives", "twice"});
  expect_parts(comm_problem("[inject]\nfault = \"last\"\nfault_rank = 2\n", 2),
               {"inject.fault_rank = 2", "2 ranks"});
  expect_parts(comm_problem("[inject]\nhang = \"skip\"\nhang_rank = 5\n", 2),
               {"inject.hang_rank = 5", "2 ranks"});
  expect_parts(comm_problem("[inject]\nhang = \"sleep\"\n", 1), {"inject.hang", "second rank"});
  expect_parts(comm_problem("[exchange]\nranks_per_node = 3\n", 4),
               {"exchange.ranks_per_node = 3", "4 ranks"});
  expect_parts(comm_problem("[inject]\nslow_phase = \"wire\"\n", 2), {"inject.slow_phase", "no phases"});
}

}  // namespace
}  // namespace minigift
