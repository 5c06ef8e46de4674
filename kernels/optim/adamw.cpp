#include "kernels/optim/adamw.hpp"

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/pieces.hpp"
#include "kernels/math.hpp"

#include <cmath>

namespace minigift {
namespace {

using linalg::piece_elements;

/// The numbers of one step, the same for every parameter.
template <class S>
struct AdamWStep {
  S gradient_scale, beta1, beta2, epsilon;
  S keep;                // 1 - learning_rate * weight_decay
  S rate;                // learning_rate / (1 - beta1^t)
  S inverse_correction;  // 1 / (1 - beta2^t)
};

/// One parameter's update.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void update(const AdamWStep<S>& c, S& parameter, S gradient, S& m, S& v) {
  const S g = c.gradient_scale * gradient;
  m = c.beta1 * m + (S(1) - c.beta1) * g;
  v = c.beta2 * v + (S(1) - c.beta2) * g * g;
  parameter = c.keep * parameter - c.rate * m / (math::sqrt(v * c.inverse_correction) + c.epsilon);
}

/// `count` neighbouring parameters. The arrays do not overlap.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void update_piece(const AdamWStep<S>& c, S* parameter, const S* gradient, S* m,
                                              S* v, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i)
    update(c, parameter[i], gradient[i], m[i], v[i]);
}

}  // namespace

template <class S>
void adamw(const Vector<S>& parameter, const Vector<const S>& gradient, const Vector<S>& m,
           const Vector<S>& v, S learning_rate, S gradient_scale, const AdamWOptions& options,
           std::int64_t step) {
  const std::int64_t count = size(parameter);
  require(size(gradient) == count && size(m) == count && size(v) == count,
          "AdamW: {} parameters, {} gradients, {} and {} moments", count, size(gradient), size(m), size(v));
  require(step >= 1, "AdamW: steps are counted from 1, not {}", step);
  const double beta1 = options.beta1, beta2 = options.beta2, exponent = static_cast<double>(step);
  const AdamWStep<S> constants{
      gradient_scale,
      static_cast<S>(beta1),
      static_cast<S>(beta2),
      static_cast<S>(options.epsilon),
      static_cast<S>(1 - static_cast<double>(learning_rate) * static_cast<double>(options.weight_decay)),
      static_cast<S>(static_cast<double>(learning_rate) / (1 - std::pow(beta1, exponent))),
      static_cast<S>(1 / (1 - std::pow(beta2, exponent)))};
  Kokkos::parallel_for(
      "minigift::adamw", range(linalg::piece_count(count, piece_elements)),
      KOKKOS_LAMBDA(const std::int64_t piece) {
        const std::int64_t first = piece * piece_elements;
        const std::int64_t length = count - first < piece_elements ? count - first : piece_elements;
        update_piece(constants, &parameter(first), &gradient(first), &m(first), &v(first), length);
      });
}

#define MINIGIFT_INSTANTIATE(S)                                                                              \
  template void adamw<S>(const Vector<S>&, const Vector<const S>&, const Vector<S>&, const Vector<S>&, S, S, \
                         const AdamWOptions&, std::int64_t);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
