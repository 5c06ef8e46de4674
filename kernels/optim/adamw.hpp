#pragma once
// AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled weight decay regularization",
// ICLR 2019).

#include "kernels/view.hpp"

namespace minigift {

struct AdamWOptions {
  float beta1 = 0.9f;
  float beta2 = 0.95f;
  float epsilon = 1e-8f;
  float weight_decay = 0.1f;  ///< multiplied by the learning rate; 0 for norms
};

/// One step for a range of parameters, with g = gradient_scale * gradient and step t = 1, 2, ...:
///     m <- beta1 m + (1 - beta1) g,       v <- beta2 v + (1 - beta2) g^2,
///     m' = m / (1 - beta1^t),             v' = v / (1 - beta2^t),
///     parameter <- parameter - learning_rate (weight_decay parameter + m' / (sqrt(v') + epsilon)).
/// All vectors have the parameter's extent; m and v start at zero and are the whole state, 8 bytes per
/// parameter in FP32. One pass: 16 bytes read and 12 written, about 15 flop per parameter. Instantiated for
/// float and double. Throws RuntimeError for differing extents or step < 1.
template <class S>
void adamw(const Vector<S>& parameter, const Vector<const S>& gradient, const Vector<S>& m,
           const Vector<S>& v, S learning_rate, S gradient_scale, const AdamWOptions& options,
           std::int64_t step);

}  // namespace minigift
