#include "miniapp/train/optimizer.hpp"

#include "kernels/slice.hpp"

namespace minigift {
namespace {

AdamWOptions adamw_options(const OptimizerDeck& deck) {
  return {.beta1 = static_cast<float>(deck.adamw_beta1),
          .beta2 = static_cast<float>(deck.adamw_beta2),
          .epsilon = static_cast<float>(deck.adamw_epsilon),
          .weight_decay = static_cast<float>(deck.adamw_weight_decay)};
}

MuonOptions muon_options(const OptimizerDeck& deck) {
  MuonOptions options = muon_preset(std::string(name_of(deck.muon_preset)));
  if (deck.muon_momentum) options.momentum = static_cast<float>(*deck.muon_momentum);
  if (deck.muon_nesterov) options.nesterov = *deck.muon_nesterov;
  if (deck.muon_weight_decay) options.weight_decay = static_cast<float>(*deck.muon_weight_decay);
  if (deck.newton_schulz_steps) {
    const int steps = static_cast<int>(*deck.newton_schulz_steps);
    options.coefficients = deck.muon_preset == MuonPresetChoice::moonlight ? simple_coefficients(steps)
                                                                           : quintic_coefficients(steps);
  }
  options.products = deck.newton_schulz_compute == ComputeChoice::bf16 ? Products::bfloat16 : Products::full;
  return options;
}

}  // namespace

Optimizer::Optimizer(const OptimizerDeck& deck, const ParameterRegistry& registry,
                     const Vector<float>& parameters, const Vector<float>& gradients)
    : registry_(registry),
      parameters_(parameters),
      gradients_(gradients),
      adamw_options_(adamw_options(deck)),
      muon_options_(muon_options(deck)),
      products_(deck.newton_schulz_compute == ComputeChoice::tf32 ? Fp32Products::tf32 : Fp32Products::ieee),
      first_moment_("minigift::first_moment", parameters.size()) {
  std::int64_t second = 0;
  for (const Parameter& p : registry) {
    const bool muon = deck.hidden == HiddenOptimizerChoice::muon && is_hidden_matrix(p.role);
    second_offset_.push_back(muon ? -1 : second);
    if (!muon) second += p.size();
  }
  second_moment_ = Vector<float>("minigift::second_moment", static_cast<std::size_t>(second));
}

void Optimizer::step(double learning_rate, double gradient_factor) {
  ++steps_;
  const ScopedFp32Products products(products_);
  const auto rate = static_cast<float>(learning_rate);
  const auto factor = static_cast<float>(gradient_factor);
  for (int t = 0; t < registry_.size(); ++t) {
    const Parameter& p = registry_[t];
    const std::int64_t second = second_offset_[static_cast<std::size_t>(t)];
    if (second < 0) {
      muon_step<float>(
          slice(parameters_, p.offset, p.rows, p.columns), slice(gradients_, p.offset, p.rows, p.columns),
          slice(first_moment_, p.offset, p.rows, p.columns), rate, factor, muon_options_, workspace_);
    } else {
      AdamWOptions options = adamw_options_;
      if (p.role == Role::norm)
        options.weight_decay = 0.0f;  // a decayed norm weight would scale its layer down
      adamw<float>(slice(parameters_, p.offset, p.size()), slice(gradients_, p.offset, p.size()),
                   slice(first_moment_, p.offset, p.size()), slice(second_moment_, second, p.size()), rate,
                   factor, options, steps_);
    }
  }
}

}  // namespace minigift
