#pragma once
// Muon: momentum, orthogonalised (Jordan et al. 2024; Liu et al., "Muon is scalable for LLM training",
// arXiv:2502.16982). For the hidden weight matrices; everything else takes AdamW.

#include "kernels/optim/newton_schulz.hpp"
#include "kernels/view.hpp"

#include <string>
#include <vector>

namespace minigift {

/// The factor c(m, n) on the orthogonalised update O of an (m, n) matrix. O of full rank has root mean square
/// 1 / sqrt(max(m, n)).
enum class UpdateScale {
  shape,     ///< sqrt(max(1, m / n)) (Jordan)
  spectral,  ///< sqrt(max(m, n)): root mean square 1 at full rank (Moonlight, with extra_scale 0.2;
             ///< Megatron-LM)
  unit_rms   ///< sqrt(m / n) (Bernstein)
};

struct MuonOptions {
  float momentum = 0.95f;
  bool nesterov = true;
  bool ema_momentum =
      false;  ///< M <- beta M + (1 - beta) G instead of beta M + G; the update differs by epsilon only
  float weight_decay = 0.1f;
  float epsilon = 1e-7f;  ///< added to the norm before the iteration
  std::vector<Coefficients<float>> coefficients = simple_coefficients();
  UpdateScale scale = UpdateScale::spectral;
  float extra_scale = 0.2f;
  Products products = Products::full;
};

/// "moonlight": the values above, as published with Moonlight. "megatron": the defaults of Megatron-LM's
/// command line (momentum 0.9 as a moving average, no Nesterov, decay 0.01, epsilon 1e-15, quintic
/// coefficients, scale sqrt(max(m, n))). Throws UsageError naming an unknown preset.
MuonOptions muon_preset(const std::string& name);

/// c(m, n) * extra_scale.
double update_scale(const MuonOptions& options, std::int64_t m, std::int64_t n);

template <class S>
struct MuonWorkspace {
  Vector<S> update;  ///< m n elements
  NewtonSchulzWorkspace<S> iteration;
};

/// One step for one matrix, with G = gradient_scale * gradient, beta = momentum, lambda = weight_decay:
///     M <- beta M + G                                   (ema_momentum: beta M + (1 - beta) G)
///     B <- nesterov ? G + beta M : M                    (ema_momentum: (1 - beta) G + beta M)
///     weight <- (1 - learning_rate lambda) weight - learning_rate c(m, n) extra_scale NewtonSchulz(B).
/// All matrices (m, n). M starts at zero and is the whole state, 4 bytes per parameter in FP32. Memory
/// traffic outside the iteration: 8 passes. Instantiated for float and double; throws RuntimeError for
/// differing shapes.
template <class S>
void muon_step(const Matrix<S>& weight, const Matrix<const S>& gradient, const Matrix<S>& momentum,
               S learning_rate, S gradient_scale, const MuonOptions& options, MuonWorkspace<S>& workspace);

}  // namespace minigift
