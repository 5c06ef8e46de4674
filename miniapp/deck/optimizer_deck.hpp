#pragma once
// [optimizer]: Muon for the hidden matrices, AdamW for embedding, head and norms.
// Muon's presets: Moonlight, arXiv:2502.16982; Megatron-LM's orthogonalised momentum optimizer.

#include "miniapp/deck/key.hpp"
#include "miniapp/deck/train_deck.hpp"

namespace minigift {

enum class HiddenOptimizerChoice { muon, adamw };
constexpr std::array<std::string_view, 2> names_of(HiddenOptimizerChoice) {
  return {"muon", "adamw"};
}

enum class MuonPresetChoice { moonlight, megatron };
constexpr std::array<std::string_view, 2> names_of(MuonPresetChoice) {
  return {"moonlight", "megatron"};
}

struct OptimizerDeck {
  HiddenOptimizerChoice hidden = HiddenOptimizerChoice::muon;
  MuonPresetChoice muon_preset = MuonPresetChoice::moonlight;
  std::optional<double> muon_momentum;
  std::optional<bool> muon_nesterov;
  std::optional<double> muon_weight_decay;
  std::optional<std::int64_t> newton_schulz_steps;
  ComputeChoice newton_schulz_compute = ComputeChoice::fp32;
  bool muon_sharded = false;
  double adamw_beta1 = 0.9;
  double adamw_beta2 = 0.95;
  double adamw_epsilon = 1e-8;
  double adamw_weight_decay = 0.1;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.hidden, Key{.name = "hidden", .help = "optimizer of the two-dimensional hidden weights"});
    visit(self.muon_preset,
          Key{.name = "muon_preset",
              .help = "momentum, weight decay, Newton-Schulz coefficients and update scale"});
    visit(self.muon_momentum, Key{.name = "muon_momentum",
                                  .help = "Muon's momentum",
                                  .minimum = 0,
                                  .maximum = 1,
                                  .below_maximum = true,
                                  .when_unset = "as muon_preset"});
    visit(self.muon_nesterov, Key{.name = "muon_nesterov",
                                  .help = "Nesterov form of Muon's momentum",
                                  .when_unset = "as muon_preset"});
    visit(self.muon_weight_decay, Key{.name = "muon_weight_decay",
                                      .help = "Muon's decoupled weight decay",
                                      .minimum = 0,
                                      .when_unset = "as muon_preset"});
    visit(self.newton_schulz_steps, Key{.name = "newton_schulz_steps",
                                        .help = "Newton-Schulz iterations",
                                        .minimum = 1,
                                        .maximum = 100,
                                        .when_unset = "as muon_preset"});
    visit(self.newton_schulz_compute,
          Key{.name = "newton_schulz_compute", .help = "operands of the Newton-Schulz products"});
    visit(self.muon_sharded,
          Key{.name = "muon_sharded",
              .help = "each hidden matrix is updated by one rank, which sends the new weights to the others, "
                      "instead of by every rank; same bits"});
    visit(self.adamw_beta1, Key{.name = "adamw_beta1",
                                .help = "decay of AdamW's first moment",
                                .minimum = 0,
                                .maximum = 1,
                                .below_maximum = true});
    visit(self.adamw_beta2, Key{.name = "adamw_beta2",
                                .help = "decay of AdamW's second moment",
                                .minimum = 0,
                                .maximum = 1,
                                .below_maximum = true});
    visit(self.adamw_epsilon, Key{.name = "adamw_epsilon",
                                  .help = "added to the root of the second moment",
                                  .minimum = 0,
                                  .above_minimum = true});
    visit(self.adamw_weight_decay,
          Key{.name = "adamw_weight_decay", .help = "AdamW's decoupled weight decay", .minimum = 0});
  }
};

}  // namespace minigift
