#include "kernels/optim/muon.hpp"

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/pieces.hpp"
#include "kernels/linalg/workspace.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace minigift {
namespace {

using linalg::piece_elements;

/// M and the update before orthogonalisation, both linear in (M, G):
///     M <- keep M + take G,   B = from_momentum M + from_gradient G   (with the new M).
template <class S>
struct MomentumRule {
  S keep, take, from_momentum, from_gradient;
};

template <class S>
MomentumRule<S> momentum_rule(const MuonOptions& options, S gradient_scale) {
  const S beta = options.momentum;
  const S take = (options.ema_momentum ? S(1) - beta : S(1)) * gradient_scale;
  if (options.nesterov) return {beta, take, beta, take};
  return {beta, take, S(1), S(0)};
}

template <class S>
void accumulate_momentum(const MomentumRule<S>& rule, const Vector<const S>& gradient,
                         const Vector<S>& momentum, const Vector<S>& update) {
  const std::int64_t count = size(momentum);
  Kokkos::parallel_for(
      "minigift::muon_momentum", range(linalg::piece_count(count, piece_elements)),
      KOKKOS_LAMBDA(const std::int64_t piece) {
        const std::int64_t first = piece * piece_elements;
        const std::int64_t length = count - first < piece_elements ? count - first : piece_elements;
        const S* const g = &gradient(first);
        S* const m = &momentum(first);
        S* const b = &update(first);
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i) {
          const S moved = rule.keep * m[i] + rule.take * g[i];
          b[i] = rule.from_momentum * moved + rule.from_gradient * g[i];
          m[i] = moved;
        }
      });
}

/// weight <- keep weight - rate update.
template <class S>
void move(S keep, S rate, const Vector<const S>& update, const Vector<S>& weight) {
  const std::int64_t count = size(weight);
  Kokkos::parallel_for(
      "minigift::muon_move", range(linalg::piece_count(count, piece_elements)),
      KOKKOS_LAMBDA(const std::int64_t piece) {
        const std::int64_t first = piece * piece_elements;
        const std::int64_t length = count - first < piece_elements ? count - first : piece_elements;
        const S* const o = &update(first);
        S* const w = &weight(first);
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i)
          w[i] = keep * w[i] - rate * o[i];
      });
}

}  // namespace

MuonOptions muon_preset(const std::string& name) {
  MuonOptions options;
  if (name == "moonlight") return options;
  require_usage(name == "megatron", "unknown Muon preset '{}': the presets are moonlight and megatron", name);
  options.momentum = 0.9f;
  options.nesterov = false;
  options.ema_momentum = true;
  options.weight_decay = 0.01f;
  options.epsilon = 1e-15f;
  options.coefficients = quintic_coefficients();
  options.scale = UpdateScale::spectral;
  options.extra_scale = 1.0f;
  return options;
}

double update_scale(const MuonOptions& options, std::int64_t m, std::int64_t n) {
  const auto rows = static_cast<double>(m), columns = static_cast<double>(n);
  double scale = 1;
  switch (options.scale) {
    case UpdateScale::shape:
      scale = std::sqrt(std::max(1.0, rows / columns));
      break;
    case UpdateScale::spectral:
      scale = std::sqrt(std::max(rows, columns));
      break;
    case UpdateScale::unit_rms:
      scale = std::sqrt(rows / columns);
      break;
  }
  return scale * static_cast<double>(options.extra_scale);
}

template <class S>
void muon_step(const Matrix<S>& weight, const Matrix<const S>& gradient, const Matrix<S>& momentum,
               S learning_rate, S gradient_scale, const MuonOptions& options, MuonWorkspace<S>& workspace) {
  const std::int64_t m = extent(weight, 0), n = extent(weight, 1);
  require(extent(gradient, 0) == m && extent(gradient, 1) == n && extent(momentum, 0) == m &&
              extent(momentum, 1) == n,
          "Muon: weight ({}, {}), gradient ({}, {}), momentum ({}, {})", m, n, extent(gradient, 0),
          extent(gradient, 1), extent(momentum, 0), extent(momentum, 1));
  if (m == 0 || n == 0) return;
  reserve(workspace.update, m * n);
  const Matrix<S> update = slice(workspace.update, 0, m, n);
  accumulate_momentum<S>(momentum_rule<S>(options, gradient_scale), flatten(gradient), flatten(momentum),
                         flatten(update));

  std::vector<Coefficients<S>> coefficients;
  for (const auto& [a, b, c] : options.coefficients)
    coefficients.push_back({a, b, c});
  newton_schulz<S>(update, coefficients, static_cast<S>(options.epsilon), workspace.iteration,
                   options.products);

  const double rate = static_cast<double>(learning_rate);
  move<S>(static_cast<S>(1 - rate * static_cast<double>(options.weight_decay)),
          static_cast<S>(rate * update_scale(options, m, n)), flatten(update), flatten(weight));
}

#define MINIGIFT_INSTANTIATE(S)                                                                \
  template void muon_step<S>(const Matrix<S>&, const Matrix<const S>&, const Matrix<S>&, S, S, \
                             const MuonOptions&, MuonWorkspace<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
