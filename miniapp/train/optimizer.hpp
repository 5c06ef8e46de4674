#pragma once
// Muon for the weight matrices inside the decoder layers, AdamW for embedding, head and norms.
//
// Norm weights are not decayed. State: one FP32 momentum per Muon element, two FP32 moments per AdamW
// element. Every rank holds all of it and computes the same update from the same gradient.

#include "kernels/linalg/gemm.hpp"
#include "kernels/optim/adamw.hpp"
#include "kernels/optim/muon.hpp"
#include "kernels/view.hpp"
#include "miniapp/deck/optimizer_deck.hpp"
#include "miniapp/model/parameter_registry.hpp"

#include <cstdint>
#include <vector>

namespace minigift {

class Optimizer {
 public:
  /// The flat buffers are described by `registry`; both must outlive the optimizer.
  Optimizer(const OptimizerDeck& deck, const ParameterRegistry& registry, const Vector<float>& parameters,
            const Vector<float>& gradients);

  /// One update with the gradient times `gradient_factor` (clipping).
  void step(double learning_rate, double gradient_factor);

 private:
  const ParameterRegistry& registry_;
  Vector<float> parameters_;
  Vector<float> gradients_;
  AdamWOptions adamw_options_;
  MuonOptions muon_options_;
  Fp32Products products_;  // of Newton-Schulz, where its operands are FP32
  MuonWorkspace<float> workspace_;
  Vector<float> first_moment_;               // flat; Muon's momentum lies in the same place
  Vector<float> second_moment_;              // of the AdamW tensors, one after the other
  std::vector<std::int64_t> second_offset_;  // per tensor, -1 where Muon needs none
  std::int64_t steps_ = 0;
};

}  // namespace minigift
