#pragma once
// Softmax cross-entropy: loss[r] = log(sum_v exp(logits[r][v])) - logits[r][targets[r]], with the row maximum
// subtracted first. The training variant writes the gradient over the logits, so that no second (R,V) array
// exists.
//
// Bytes moved per element: loss alone sizeof(S) (two passes, the second from cache), with gradient
// 2*sizeof(S). A non-finite logit that matters gives a non-finite loss; it is never hidden. Losses are in
// nats. Both functions throw RuntimeError naming the first row whose target lies outside [0, V), before
// anything is written.

#include "kernels/nn/argument.hpp"

#include <cstdint>

namespace minigift {

/// loss(R) for logits(R,V) and targets(R); logits become (softmax(logits) - onehot(targets)) *
/// gradient_scale.
template <class S>
void cross_entropy(const Matrix<S>& logits, const Vector<const std::int32_t>& targets,
                   std::type_identity_t<S> gradient_scale, const Vector<S>& loss);

/// loss(R) alone; the logits are left as they are.
template <class S>
void cross_entropy_loss(const ConstMatrix<S>& logits, const Vector<const std::int32_t>& targets,
                        const Vector<S>& loss);

}  // namespace minigift
