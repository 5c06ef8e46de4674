#include "miniapp/exchange/method.hpp"

#include "kernels/error.hpp"
#include "miniapp/exchange/selection.hpp"

#include <fmt/format.h>

#include <limits>

namespace minigift {
namespace {

MethodDeck named(const char* name) {
  MethodDeck deck;
  deck.name = name;
  return deck;
}

MethodDeck gift_defaults(const char* name) {
  MethodDeck deck = named(name);
  deck.coordinates = CoordinatesChoice::input_lowrank;
  deck.format = Format::e4m3;
  deck.layers = {"auto"};
  deck.error_feedback = ErrorFeedbackChoice::selected;
  return deck;
}

MethodDeck gift_of_the_paper(const char* name) {
  MethodDeck deck = gift_defaults(name);
  deck.format = Format::e5m2;
  deck.exponent = 0.5;
  deck.completion = Completion::edge;
  deck.refresh_period = 50;
  deck.layers = {"model.layers.*.mlp.down_proj.weight"};
  // The paper has no guard; gamma of a stale factor exceeds any useful bound.
  deck.guard = std::numeric_limits<double>::max();
  return deck;
}

CoordinateSystem coordinate_system(const MethodDeck& deck) {
  switch (deck.coordinates) {
    case CoordinatesChoice::euclidean:
      return CoordinateSystem::euclidean;
    case CoordinatesChoice::input_lowrank:
      return CoordinateSystem::input_low_rank;
    case CoordinatesChoice::input_full:
      return CoordinateSystem::input_full;
    case CoordinatesChoice::input_diag:
      return CoordinateSystem::input_diagonal;
    case CoordinatesChoice::input_block:
      return CoordinateSystem::input_block;
  }
  throw UsageError(fmt::format("exchange.{}.coordinates: unknown choice", deck.name));
}

}  // namespace

std::vector<MethodDeck> built_in_methods() {
  std::vector<MethodDeck> methods;
  methods.push_back(named("fp32"));

  methods.push_back(named("bf16"));
  methods.back().format = Format::bf16;

  methods.push_back(named("euclidean"));
  methods.back().format = Format::e4m3;

  methods.push_back(named("euclidean-block512"));
  methods.back().format = Format::e4m3;
  methods.back().granularity = GranularityChoice::block;
  methods.back().scale_block = 512;

  methods.push_back(gift_defaults("gift"));
  methods.push_back(gift_of_the_paper("gift-paper"));

  methods.push_back(gift_of_the_paper("gift-literal"));
  methods.back().scale = ScaleChoice::local;
  methods.back().scale_sync_period = 10;
  methods.back().allow_divergence = true;

  methods.push_back(gift_defaults("gift-a2a"));
  methods.back().scale = ScaleChoice::carried;
  methods.back().reduction = ReductionChoice::a2a;

  methods.push_back(methods.back());
  methods.back().name = "gift-hierarchical";
  methods.back().reduction = ReductionChoice::hierarchical;

  methods.push_back(named("int8-block128"));
  methods.back().format = Format::int8;
  methods.back().granularity = GranularityChoice::block;
  methods.back().scale_block = 128;
  methods.back().scale = ScaleChoice::carried;
  methods.back().reduction = ReductionChoice::a2a;

  methods.push_back(methods.back());
  methods.back().name = "gift-int8";
  methods.back().coordinates = CoordinatesChoice::input_lowrank;
  methods.back().layers = {"auto"};
  methods.back().error_feedback = ErrorFeedbackChoice::selected;
  return methods;
}

Method resolve_method(const MethodDeck& deck, const ExchangeDeck& exchange, int ranks) {
  Method method;
  method.name = deck.name;
  method.coordinates = coordinate_system(deck);
  method.rank = deck.rank;
  method.oversample = exchange.oversample;
  method.block = deck.block;
  method.whitening = {.exponent = deck.exponent,
                      .completion = deck.completion,
                      .damping = deck.damping,
                      .absolute_damping = deck.damping_absolute,
                      .condition_cap = deck.condition_cap};
  method.format = deck.format;
  method.granularity = static_cast<Granularity>(deck.granularity);
  method.scale_block = deck.scale_block;
  method.rounding = deck.rounding;
  method.scale = !has_scale(deck.format)              ? ScaleRule::none
                 : deck.scale == ScaleChoice::synced  ? ScaleRule::synchronised
                 : deck.scale == ScaleChoice::carried ? ScaleRule::carried
                                                      : ScaleRule::local;
  method.scale_sync_period = deck.scale_sync_period;
  method.reduction = static_cast<Reduction>(deck.reduction);
  method.headroom = deck.headroom > 0 ? static_cast<float>(deck.headroom)
                    : method.reduction == Reduction::native && has_scale(deck.format)
                        ? static_cast<float>(ranks)
                        : 1.0f;
  method.error_feedback = static_cast<ErrorFeedback>(deck.error_feedback);
  method.layers = deck.layers;
  method.auto_fraction = deck.auto_fraction;
  method.refresh_period = deck.refresh_period > 0 ? deck.refresh_period : exchange.refresh_period;
  method.sketch_window = deck.sketch_window > 0 ? deck.sketch_window : exchange.sketch_window;
  method.guard = deck.guard > 0 ? deck.guard : exchange.guard;
  method.allow_divergence = deck.allow_divergence;
  return method;
}

void check_method(const Method& method, const LlamaShape& shape) {
  const ParameterRegistry registry(shape);
  const LayerSelection selection(method, selection_candidates(registry));
}

std::string describe(const Method& method) {
  std::string text;
  switch (method.coordinates) {
    case CoordinateSystem::euclidean:
      text = "euclidean";
      break;
    case CoordinateSystem::input_low_rank:
      text = fmt::format("input-lowrank-{}", method.rank);
      break;
    case CoordinateSystem::input_full:
      text = "input-full";
      break;
    case CoordinateSystem::input_block:
      text = fmt::format("input-block-{}", method.block);
      break;
    case CoordinateSystem::input_diagonal:
      text = "input-diag";
      break;
  }
  if (method.coordinates != CoordinateSystem::euclidean) {
    text += fmt::format(" (p={:g}, {}, K={}, layers {})", method.whitening.exponent,
                        name_of(method.whitening.completion), method.refresh_period,
                        fmt::join(method.layers, " "));
  }
  text += fmt::format(", {}", minigift::name(method.format));
  if (has_scale(method.format)) {
    text += method.granularity == Granularity::tensor ? " per tensor"
            : method.granularity == Granularity::row  ? " per row"
                                                      : fmt::format(" per {}", method.scale_block);
    text += method.scale == ScaleRule::synchronised ? ", scale synced"
            : method.scale == ScaleRule::carried    ? ", scale carried"
                                                    : ", scale local";
    text += fmt::format(", headroom {:g}", method.headroom);
  }
  if (method.rounding == Rounding::stochastic) text += ", stochastic";
  text += method.reduction == Reduction::native       ? ", native sum"
          : method.reduction == Reduction::all_to_all ? ", all-to-all with FP32 sum"
                                                      : ", hierarchical, FP32 sum per node and across";
  if (method.error_feedback != ErrorFeedback::off) {
    text += fmt::format(", error feedback {}",
                        method.error_feedback == ErrorFeedback::all ? "everywhere" : "on selected");
  }
  return text;
}

}  // namespace minigift
