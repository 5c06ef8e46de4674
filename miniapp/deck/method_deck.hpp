#pragma once
// [exchange.NAME]: one method of gradient exchange, as a composition of coordinates, codec, scale rule,
// reduction and error feedback. GIFT is arXiv:2607.07494.

#include "kernels/format/format.hpp"
#include "kernels/geometry/whitening.hpp"
#include "miniapp/deck/key.hpp"

namespace minigift {

constexpr std::array<std::string_view, 5> names_of(Format) {
  return {"fp32", "bf16", "e4m3", "e5m2", "int8"};
}
constexpr std::array<std::string_view, 2> names_of(Rounding) {
  return {"nearest-even", "stochastic"};
}
constexpr std::array<std::string_view, 3> names_of(Completion) {
  return {"tail", "edge", "mean"};
}

enum class CoordinatesChoice { euclidean, input_lowrank, input_full, input_diag, input_block };
constexpr std::array<std::string_view, 5> names_of(CoordinatesChoice) {
  return {"euclidean", "input-lowrank", "input-full", "input-diag", "input-block"};
}

enum class GranularityChoice { tensor, row, block };
constexpr std::array<std::string_view, 3> names_of(GranularityChoice) {
  return {"tensor", "row", "block"};
}

enum class ScaleChoice { synced, local, carried };
constexpr std::array<std::string_view, 3> names_of(ScaleChoice) {
  return {"synced", "local", "carried"};
}

enum class ReductionChoice { native, a2a, hierarchical };
constexpr std::array<std::string_view, 3> names_of(ReductionChoice) {
  return {"native", "a2a", "hierarchical"};
}

enum class ErrorFeedbackChoice { off, selected, all };
constexpr std::array<std::string_view, 3> names_of(ErrorFeedbackChoice) {
  return {"off", "selected", "all"};
}

struct MethodDeck {
  std::string name;  ///< the NAME of [exchange.NAME]; not a key
  std::string base;
  CoordinatesChoice coordinates = CoordinatesChoice::euclidean;
  std::int64_t rank = 32;
  std::int64_t block = 128;
  double exponent = 0.25;
  Completion completion = Completion::tail;
  double damping = 1e-3;
  bool damping_absolute = false;
  double condition_cap = 1e3;
  Format format = Format::fp32;
  GranularityChoice granularity = GranularityChoice::tensor;
  std::int64_t scale_block = 512;
  Rounding rounding = Rounding::nearest_even;
  ScaleChoice scale = ScaleChoice::synced;
  std::int64_t scale_sync_period = 1;
  ReductionChoice reduction = ReductionChoice::native;
  double headroom = 0;
  ErrorFeedbackChoice error_feedback = ErrorFeedbackChoice::off;
  std::vector<std::string> layers = {"all"};
  double auto_fraction = 0.5;
  std::int64_t refresh_period = 0;
  std::int64_t sketch_window = 0;
  double guard = 0;
  bool allow_divergence = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.base, Key{.name = "base",
                         .help = "method whose values are the defaults of this one; a new name needs it"});
    visit(self.coordinates, Key{.name = "coordinates", .help = "coordinates in which a gradient is encoded"});
    visit(self.rank, Key{.name = "rank", .help = "rank r of input-lowrank", .minimum = 1});
    visit(self.block, Key{.name = "block", .help = "block width b of input-block", .minimum = 1});
    visit(self.exponent, Key{.name = "exponent",
                             .help = "p of T = A^-p; the paper's whitening is 1/2",
                             .minimum = 0,
                             .maximum = 1,
                             .above_minimum = true});
    visit(self.completion, Key{.name = "completion", .help = "eigenvalue outside the low-rank basis"});
    visit(self.damping,
          Key{.name = "damping",
              .help = "added to the eigenvalues, relative to their mean unless damping_absolute",
              .minimum = 0});
    visit(self.damping_absolute, Key{.name = "damping_absolute", .help = "take damping as it is"});
    visit(self.condition_cap, Key{.name = "condition_cap",
                                  .help = "largest sqrt(lambda_1/sigma^2) of the completed factor",
                                  .minimum = 1});
    visit(self.format, Key{.name = "format", .help = "codes on the wire"});
    visit(self.granularity, Key{.name = "granularity", .help = "elements that share one scale"});
    visit(self.scale_block, Key{.name = "scale_block",
                                .unit = "elements",
                                .help = "elements per scale with granularity = \"block\"",
                                .minimum = 1});
    visit(self.rounding, Key{.name = "rounding", .help = "rounding of the first cast"});
    visit(self.scale,
          Key{.name = "scale",
              .help = "synced: from the largest magnitude over all ranks; local: each rank its own, as "
                      "printed in the paper's Algorithm 1; carried: sent with the codes"});
    visit(self.scale_sync_period, Key{.name = "scale_sync_period",
                                      .unit = "steps",
                                      .help = "steps between synchronisations of the scale",
                                      .minimum = 1});
    visit(self.reduction,
          Key{.name = "reduction",
              .help = "native: codes are added hop by hop; a2a: all-to-all, FP32 sum at the owner, "
                      "all-gather; hierarchical: the same within each node, then across nodes"});
    visit(self.headroom,
          Key{.name = "headroom",
              .help = "factor kept free above the largest magnitude; 0 is automatic: the number of "
                      "ranks for native, else 1",
              .minimum = 0});
    visit(self.error_feedback,
          Key{.name = "error_feedback", .help = "layers whose rounding error is added to the next gradient"});
    visit(self.layers,
          Key{.name = "layers",
              .help = "tensors sent in the coordinates: \"all\", \"auto\", \"file:PATH\" or a list of "
                      "patterns with * such as \"*.down_proj.weight\""});
    visit(self.auto_fraction, Key{.name = "auto_fraction",
                                  .help = "share of the eligible parameters that layers = \"auto\" selects",
                                  .minimum = 0,
                                  .maximum = 1});
    visit(self.refresh_period, Key{.name = "refresh_period",
                                   .unit = "steps",
                                   .help = "steps between two factors; 0 takes exchange.refresh_period",
                                   .minimum = 0});
    visit(self.sketch_window, Key{.name = "sketch_window",
                                  .unit = "steps",
                                  .help = "steps sketched before a refresh; 0 takes exchange.sketch_window",
                                  .minimum = 0});
    visit(self.guard,
          Key{.name = "guard",
              .help = "a layer whose predicted error ratio gamma is above this falls back to euclidean; 0 "
                      "takes exchange.guard",
              .minimum = 0});
    visit(self.allow_divergence, Key{.name = "allow_divergence",
                                     .help = "report different parameters on the ranks instead of failing"});
  }
};

}  // namespace minigift
