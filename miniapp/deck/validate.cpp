// Conditions between keys.

#include "kernels/error.hpp"
#include "miniapp/deck/checker.hpp"
#include "miniapp/deck/value_text.hpp"

#include <algorithm>

namespace minigift {
namespace {

void validate_model(const ModelDeck& model, const Checker& checker) {
  checker.check(model.hidden % model.heads == 0, "model.heads", "model.hidden", "heads must divide hidden");
  checker.check((model.hidden / model.heads) % 2 == 0, "model.heads", "model.hidden",
                fmt::format("the head width hidden/heads = {} must be even for rotary positions",
                            model.hidden / model.heads));
  checker.check(model.heads % model.kv_heads == 0, "model.kv_heads", "model.heads",
                "kv_heads must divide heads");
}

void validate_data(const Deck& deck, const Checker& checker) {
  const DataDeck& data = deck.data;
  if (data.source == DataSource::text) {
    checker.check(!data.path.empty(), "data.source", "data.path", "a text source needs a path");
    checker.check(deck.model.vocabulary >= 256, "model.vocabulary", "data.source",
                  "the bytes of a text need a vocabulary of at least 256");
  } else {
    checker.check(data.synthetic_vocabulary <= deck.model.vocabulary, "data.synthetic_vocabulary",
                  "model.vocabulary", "synthetic tokens must be below the vocabulary size");
  }
}

void validate_train(const TrainDeck& train, std::int64_t ranks, const Checker& checker) {
  // Divided one after the other, because micro_batch * ranks may overflow.
  const bool divides =
      train.global_batch % train.micro_batch == 0 && (train.global_batch / train.micro_batch) % ranks == 0;
  checker.check(divides, "train.global_batch", "train.micro_batch",
                fmt::format("global_batch must be a multiple of micro_batch times the {} rank{}", ranks,
                            ranks == 1 ? "" : "s"));
  checker.check(
      train.schedule == ScheduleChoice::constant || train.minimum_learning_rate <= train.learning_rate,
      "train.minimum_learning_rate", "train.learning_rate",
      "the cosine schedule falls, so the minimum must not be larger");
  checker.check(train.warmup_steps <= train.steps, "train.warmup_steps", "train.steps",
                "the warm-up must not be longer than the training");
}

void validate_method(const MethodDeck& method, const Deck& deck, const Checker& checker) {
  const auto key = [&](const char* name) { return "exchange." + method.name + "." + name; };
  const bool scaled = method.format != Format::fp32 && method.format != Format::bf16;
  const bool native = method.reduction == ReductionChoice::native;
  checker.check(method.format != Format::int8 || !native, key("format"), key("reduction"),
                "INT8 codes cannot be added hop by hop; use reduction = \"a2a\" or \"hierarchical\"");
  checker.check(!scaled || method.scale != ScaleChoice::carried || !native, key("scale"), key("reduction"),
                "codes with different scales cannot be added; a carried scale needs reduction = \"a2a\" or "
                "\"hierarchical\"");
  checker.check(
      !scaled || native || method.scale == ScaleChoice::carried, key("reduction"), key("scale"),
      fmt::format("the owner of a shard decodes with the sender's own scale; reduction = \"{}\" needs "
                  "scale = \"carried\"",
                  name_of(method.reduction)));
  checker.check(!scaled || method.scale != ScaleChoice::local || method.allow_divergence, key("scale"),
                key("allow_divergence"),
                "each rank decodes with its own scale, so the ranks' parameters come apart; this needs "
                "allow_divergence = true");
  checker.check(scaled || method.granularity == GranularityChoice::tensor, key("granularity"), key("format"),
                "the format has no scale that elements could share");
  const bool rounds = method.format != Format::fp32;
  checker.check(rounds || method.error_feedback == ErrorFeedbackChoice::off, key("error_feedback"),
                key("format"), "FP32 codes leave no rounding error to feed back");
  checker.check(rounds || method.rounding == Rounding::nearest_even, key("rounding"), key("format"),
                "FP32 codes are not rounded");
  checker.check(method.error_feedback != ErrorFeedbackChoice::selected ||
                    method.coordinates != CoordinatesChoice::euclidean,
                key("error_feedback"), key("coordinates"),
                "euclidean coordinates select no layer; use \"all\" or \"off\"");
  checker.check(method.headroom == 0 || method.headroom >= 1, key("headroom"),
                "is below 1, so the largest value would saturate; 0 chooses it automatically");
  checker.check(!deck.optimizer.muon_sharded || !method.allow_divergence, "optimizer.muon_sharded",
                key("allow_divergence"), "weights sent by one rank would hide that ranks come apart");
  const std::int64_t widest = std::max(deck.model.hidden, deck.model.feed_forward);
  checker.check(method.coordinates != CoordinatesChoice::input_lowrank || method.rank <= widest, key("rank"),
                "model.feed_forward", "the rank is larger than every layer's width");
  checker.check(!method.layers.empty(), key("layers"), "selects nothing; give \"all\", \"auto\" or patterns");
  const bool alone = method.layers.size() == 1 ||
                     std::none_of(method.layers.begin(), method.layers.end(), [](const std::string& word) {
                       return word == "all" || word == "auto" || word.starts_with("file:");
                     });
  checker.check(alone, key("layers"),
                "mixes patterns with \"all\", \"auto\" or \"file:\", which stand alone");
}

void validate_trace(const Deck& deck, std::int64_t ranks, const Checker& checker) {
  const TraceDeck& trace = deck.trace;
  if (trace.file.empty()) return;  // a deck may say what to trace and leave it to --trace whether
  const auto& methods = deck.exchange.methods;
  checker.check(
      trace.method.empty() || std::find(methods.begin(), methods.end(), trace.method) != methods.end(),
      "trace.method", "exchange.methods", "the traced method is not among those that are run");
  for (const std::int64_t step : trace.steps)
    checker.check(step <= deck.train.steps, "trace.steps", "train.steps",
                  "a traced step lies beyond the last");
  checker.check(!trace.content.empty(), "trace.content", "leaves nothing to write");
  checker.check(!trace.tensors.empty(), "trace.tensors", "leaves nothing to write");
  checker.check(trace.ranks <= ranks, "trace.ranks",
                fmt::format("is more than the {} rank{} there are", ranks, ranks == 1 ? "" : "s"));
  const std::int64_t batch = trace.global_batch;
  checker.check(batch % deck.train.micro_batch == 0 && (batch / deck.train.micro_batch) % ranks == 0,
                "trace.global_batch", "train.micro_batch",
                fmt::format("global_batch must be a multiple of micro_batch times the {} rank{}", ranks,
                            ranks == 1 ? "" : "s"));
  checker.check(trace.deflate > 0 || !trace.shuffle, "trace.shuffle", "trace.deflate",
                "shuffling alone saves nothing; set deflate as well");
}

}  // namespace

void validate(const Deck& deck, std::int64_t ranks) {
  require_usage(ranks >= 1, "number of ranks = {}: must be at least 1", ranks);
  const Checker checker(deck);
  validate_model(deck.model, checker);
  validate_data(deck, checker);
  validate_train(deck.train, ranks, checker);
  checker.check(deck.train.validation_sequences % deck.train.micro_batch == 0, "train.validation_sequences",
                "train.micro_batch", "validation goes by whole micro-batches, so micro_batch must divide it");
  validate_trace(deck, ranks, checker);
  checker.check(deck.exchange.ranks_per_node == 0 || ranks % deck.exchange.ranks_per_node == 0,
                "exchange.ranks_per_node",
                fmt::format("does not divide the {} rank{}", ranks, ranks == 1 ? "" : "s"));
  for (const MethodDeck& method : deck.methods)
    validate_method(method, deck, checker);
}

}  // namespace minigift
