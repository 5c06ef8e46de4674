#pragma once
// A method: coordinates, format, scale rule, reduction and error feedback, composed under one name.
//
// Built-in names (an `[exchange.NAME]` table of the deck overrides parts, or composes a new method on a
// `base`):
//
//   fp32               FP32 codes, native sum                                           reference
//   bf16               BF16 codes, native sum: each hop rounds to BF16                  reference
//   euclidean          E4M3, one MAX-synchronised scale per tensor, native sum          the paper's baseline
//   euclidean-block512 the same with a scale per 512 elements                           the paper's ablation
//   gift               low-rank input whitening, synchronised scale, native sum, error feedback
//   gift-paper         the paper's choices: E5M2, exponent 1/2, edge completion, K = 50, fc2 only
//   gift-literal       Algorithm 1 as printed: unsynchronised scales, replicas may diverge
//   gift-a2a           scales travel with the codes, FP32 sum at the shard owner, error feedback at both ends
//   gift-hierarchical  gift-a2a with the sum formed in each node first, then across nodes
//   int8-block128      INT8 with a scale per 128 elements over all-to-all
//   gift-int8          the same in whitened coordinates
//
// Source: GIFT, arXiv:2607.07494, Section IV and Algorithm 1. What the printed algorithm leaves open or gets
// wrong, and what is done instead, is listed in miniapp/exchange/README.md.

#include "kernels/format/format.hpp"
#include "kernels/geometry/whitening.hpp"
#include "miniapp/deck/exchange_deck.hpp"
#include "miniapp/deck/method_deck.hpp"
#include "miniapp/model/shape.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

enum class CoordinateSystem { euclidean, input_low_rank, input_full, input_block, input_diagonal };
enum class Granularity { tensor, row, block };
enum class ScaleRule {
  none,          ///< FP32 and BF16 need no scale
  synchronised,  ///< MAX all-reduce of amax before the cast: every rank casts with the same scale
  local,         ///< each rank its own scale, sums of codes decoded with it (Algorithm 1 as printed)
  carried        ///< each rank its own scale, sent with the codes
};
enum class Reduction { native, all_to_all, hierarchical };
enum class ErrorFeedback { off, selected, all };

struct Method {
  std::string name;
  CoordinateSystem coordinates = CoordinateSystem::euclidean;
  std::int64_t rank = 32;       ///< of the low-rank factor
  std::int64_t oversample = 8;  ///< the sketch has rank + oversample columns
  std::int64_t block = 64;      ///< of input_block, in input channels
  WhiteningOptions whitening;
  Format format = Format::fp32;
  Granularity granularity = Granularity::tensor;
  std::int64_t scale_block = 128;  ///< elements that share a scale when granularity is block
  Rounding rounding = Rounding::nearest_even;
  ScaleRule scale = ScaleRule::none;
  std::int64_t scale_sync_period = 0;  ///< local scales: steps between MAX synchronisations, 0 never
  Reduction reduction = Reduction::native;
  float headroom = 1.0f;  ///< amax is mapped to max_finite / headroom
  ErrorFeedback error_feedback = ErrorFeedback::off;
  std::vector<std::string> layers;   ///< selection: patterns, "all", "auto" or "file:PATH"
  double auto_fraction = 0.5;        ///< share of the candidates' parameters that "auto" selects
  std::int64_t auto_refreshes = 3;   ///< refreshes over which "auto" averages its score
  std::int64_t refresh_period = 10;  ///< steps between factor refreshes (K)
  std::int64_t sketch_window = 1;    ///< steps whose inputs enter a factor
  double guard = 0.95;  ///< a tensor whose gamma exceeds this stays Euclidean until the next refresh
  bool allow_divergence = false;  ///< replica divergence is reported instead of failed
};

/// True where the format's codes need a scale.
inline bool has_scale(Format format) {
  return format != Format::fp32 && format != Format::bf16;
}

/// The built-in methods as deck values, in the order of the table above.
std::vector<MethodDeck> built_in_methods();

/// Resolves what depends on the exchange's common values and on the number of ranks: headroom 0 means N for
/// the native sum, where N codes of the largest size must not saturate, and 1 otherwise. Parts that do not
/// fit together were refused by validate(Deck).
Method resolve_method(const MethodDeck& deck, const ExchangeDeck& exchange, int ranks);

/// Checks a method against a model: every pattern selects a tensor, the rank fits. Throws UsageError. For
/// errors before any work; the exchange checks again.
void check_method(const Method& method, const LlamaShape& shape);

/// The parts in one line: "input-lowrank-32 p=0.25 tail · e4m3 per tensor · synced · native x2 · error
/// feedback".
std::string describe(const Method& method);

}  // namespace minigift
