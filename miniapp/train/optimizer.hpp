#pragma once
// Muon for the weight matrices inside the decoder layers, AdamW for embedding, head and norms.
//
// Norm weights are not decayed. State: one FP32 momentum per Muon element, two FP32 moments per AdamW
// element. Every rank holds all of it and computes the same update from the same gradient; with
// optimizer.muon_sharded each hidden matrix has an owner, which updates it and sends its new weights (4 bytes
// per element, N - 1 times) to the other ranks. That divides the Newton-Schulz work by the number of ranks.

#include "kernels/linalg/gemm.hpp"
#include "kernels/optim/adamw.hpp"
#include "kernels/optim/muon.hpp"
#include "kernels/view.hpp"
#include "miniapp/deck/optimizer_deck.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <vector>

namespace minigift {

class Optimizer {
 public:
  /// The flat buffers are described by `registry`; both must outlive the optimizer.
  Optimizer(const OptimizerDeck& deck, const ParameterRegistry& registry, const Vector<float>& parameters,
            const Vector<float>& gradients, Communicator& communicator);

  /// One update with the gradient times `gradient_factor` (clipping). Collective where Muon is sharded.
  void step(double learning_rate, double gradient_factor);

 private:
  void assign_owners();
  /// New weights of the owned matrices to all ranks.
  void share_weights();

  const ParameterRegistry& registry_;
  Communicator& communicator_;
  Vector<float> parameters_;
  Vector<float> gradients_;
  AdamWOptions adamw_options_;
  MuonOptions muon_options_;
  Fp32Products products_;  // of Newton-Schulz, where its operands are FP32
  MuonWorkspace<float> workspace_;
  Vector<float> first_moment_;               // flat; Muon's momentum lies in the same place
  Vector<float> second_moment_;              // of the AdamW tensors, one after the other
  std::vector<std::int64_t> second_offset_;  // per tensor, -1 where Muon needs none
  std::vector<int> owner_;                   // per tensor: rank that updates it, -1 every rank
  std::int64_t steps_ = 0;
};

}  // namespace minigift
