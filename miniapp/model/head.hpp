#pragma once
// The language-model head: logits = head_input W^T (R,V) and their cross-entropy with the targets, in chunks
// of rows.
//
// With V = 50304 the logits of a micro-batch are its largest array by far. Each chunk's logits are therefore
// turned into loss and gradient while they exist: one product forward, two backward, and no logit is computed
// twice or kept.

#include "kernels/view.hpp"
#include "miniapp/model/workspace.hpp"

#include <cstdint>

namespace minigift {

/// Mean loss over the R rows of workspace.head_input (R,C); w (V,C). Adds gradient_scale times the gradient
/// by w to dw (V,C) and assigns that by head_input to workspace.branch (R,C).
template <class S, class In>
double head_forward_backward(const Matrix<const In>& w, const Vector<const std::int32_t>& targets,
                             S gradient_scale, const Workspace<S, In>& workspace, const Matrix<S>& dw);

/// Mean loss alone.
template <class S, class In>
double head_loss(const Matrix<const In>& w, const Vector<const std::int32_t>& targets,
                 const Workspace<S, In>& workspace);

}  // namespace minigift
