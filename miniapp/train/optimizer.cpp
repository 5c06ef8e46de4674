#include "miniapp/train/optimizer.hpp"

#include "kernels/slice.hpp"
#include "miniapp/report/region_timer.hpp"

#include <algorithm>
#include <utility>

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
                     const Vector<float>& parameters, const Vector<float>& gradients,
                     Communicator& communicator)
    : registry_(registry),
      communicator_(communicator),
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
  owner_.assign(static_cast<std::size_t>(registry.size()), -1);
  if (deck.muon_sharded) assign_owners();
}

void Optimizer::assign_owners() {
  // The most expensive matrix first, always to the rank with the least work so far. The same on every rank.
  const auto steps = static_cast<std::int64_t>(muon_options_.coefficients.size());
  std::vector<std::pair<double, int>> matrices;
  for (int t = 0; t < registry_.size(); ++t) {
    if (second_offset_[static_cast<std::size_t>(t)] < 0)
      matrices.emplace_back(newton_schulz_flop(registry_[t].rows, registry_[t].columns, steps), t);
  }
  std::stable_sort(matrices.begin(), matrices.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<double> work(static_cast<std::size_t>(communicator_.size()), 0.0);
  for (const auto& [flop, tensor] : matrices) {
    const auto least = std::min_element(work.begin(), work.end());
    owner_[static_cast<std::size_t>(tensor)] = static_cast<int>(least - work.begin());
    *least += flop;
  }
}

void Optimizer::share_weights() {
  const ScopedRegion region("wire");
  for (int t = 0; t < registry_.size(); ++t) {
    const int owner = owner_[static_cast<std::size_t>(t)];
    if (owner < 0) continue;
    const Vector<float> weights = slice(parameters_, registry_[t].offset, registry_[t].size());
    communicator_.broadcast(
        Vector<std::uint8_t>(reinterpret_cast<std::uint8_t*>(weights.data()), 4 * weights.size()), owner,
        Traffic::metadata);
  }
}

void Optimizer::step(double learning_rate, double gradient_factor) {
  ++steps_;
  const ScopedFp32Products products(products_);
  const auto rate = static_cast<float>(learning_rate);
  const auto factor = static_cast<float>(gradient_factor);
  for (int t = 0; t < registry_.size(); ++t) {
    const Parameter& p = registry_[t];
    const std::int64_t second = second_offset_[static_cast<std::size_t>(t)];
    const int owner = owner_[static_cast<std::size_t>(t)];
    if (owner >= 0 && owner != communicator_.rank()) continue;
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
  share_weights();
}

}  // namespace minigift
