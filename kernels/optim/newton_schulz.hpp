#pragma once
// Newton-Schulz iteration: from B = U S V^T to about U V^T by matrix products alone (Jordan et al., "Muon: an
// optimizer for hidden layers in neural networks", 2024).

#include "kernels/format/bfloat16.hpp"
#include "kernels/view.hpp"

#include <array>
#include <vector>

namespace minigift {

/// One step of the iteration has coefficients (a, b, c): X <- a X + (b X X^T + c (X X^T)^2) X, an odd quintic
/// of the singular values.
template <class S>
using Coefficients = std::array<S, 3>;

/// The same triple in every step, steep at zero; singular values end between 0.68 and 1.13, not at 1 (Jordan;
/// Moonlight).
std::vector<Coefficients<float>> simple_coefficients(int steps = 5);
/// A triple per step, repeated from the start after the fifth; singular values end between 0.98 and 1.03
/// (Megatron-LM).
std::vector<Coefficients<float>> quintic_coefficients(int steps = 5);

enum class Products {
  full,     ///< in the matrix's own precision
  bfloat16  ///< factors rounded to bfloat16, sums in FP32; for float matrices only
};

/// Memory kept between calls: for b (m, n) with p = min(m, n), q = max(m, n), 2 p q + 2 p^2 elements of S,
/// and for bfloat16 products p q + p^2 bfloat16 more.
template <class S>
struct NewtonSchulzWorkspace {
  Vector<S> elements;
  Vector<bfloat16> narrow;
};

/// b (m, n) <- the iteration's result from b / (||b||_F + epsilon). Works on the transpose where m > n, so
/// that Gram matrices are the smaller ones. Zero stays zero; null directions stay null. 4 p^2 q + 2 p^3 flop
/// per step. Instantiated for float and double. Throws RuntimeError for bfloat16 products of double matrices.
/// Non-finite input gives non-finite output.
template <class S>
void newton_schulz(const Matrix<S>& b, const std::vector<Coefficients<S>>& coefficients, S epsilon,
                   NewtonSchulzWorkspace<S>& workspace, Products products = Products::full);

/// Flop of newton_schulz on an (m, n) matrix.
double newton_schulz_flop(std::int64_t m, std::int64_t n, std::int64_t steps);

}  // namespace minigift
