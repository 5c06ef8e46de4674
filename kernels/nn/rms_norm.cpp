#include "kernels/nn/rms_norm.hpp"

#include "kernels/nn/row.hpp"

namespace minigift {

template <class S, class Y>
void rms_norm_forward(const ConstMatrix<S>& x, const ConstVector<S>& w, std::type_identity_t<S> epsilon,
                      const Matrix<Y>& y, const Vector<S>& inverse_rms) {
  const std::int64_t R = extent(x, 0), C = extent(x, 1);
  require_length("rms_norm_forward", "w", w, C);
  require_shape("rms_norm_forward", "y", y, R, C);
  require_length("rms_norm_forward", "inverse_rms", inverse_rms, R);
  Kokkos::parallel_for(
      "minigift::rms_norm_forward", row_policy(R), KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t r = team.league_rank();
        const double squares = row_sum<S>(team, C, [&](std::int64_t c) { return x(r, c) * x(r, c); });
        const S inverse = math::rsqrt(static_cast<S>(squares / static_cast<double>(C)) + epsilon);
        row_for(team, C, [&](std::int64_t c) { y(r, c) = stored_as<Y>(w(c) * (x(r, c) * inverse)); });
        Kokkos::single(Kokkos::PerTeam(team), [&]() { inverse_rms(r) = inverse; });
      });
}

// With n = x * inverse_rms (the normalised row) and g = w * dy (the gradient by n):
//   dx += inverse_rms * (g - n * mean(g * n)),   dw += sum over rows of dy * n.
//
// Rows are cut into at most 256 blocks of at least 16, the same for any number of threads. A team adds up dw
// over its block in order, in its own row of `partial`; a second kernel adds up the blocks in order.
template <class S>
void rms_norm_backward(const ConstMatrix<S>& x, const ConstVector<S>& w, const ConstVector<S>& inverse_rms,
                       const ConstMatrix<S>& dy, const Matrix<S>& dx, const Vector<S>& dw) {
  const std::int64_t R = extent(x, 0), C = extent(x, 1);
  require_length("rms_norm_backward", "w", w, C);
  require_length("rms_norm_backward", "inverse_rms", inverse_rms, R);
  require_shape("rms_norm_backward", "dy", dy, R, C);
  require_shape("rms_norm_backward", "dx", dx, R, C);
  require_length("rms_norm_backward", "dw", dw, C);
  if (R == 0) return;

  const std::int64_t block = math::max(std::int64_t{16}, (R + 255) / 256);
  const std::int64_t blocks = (R + block - 1) / block;
  const Matrix<S> partial(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::rms_norm_backward::partial"),
      static_cast<std::size_t>(blocks), static_cast<std::size_t>(C));
  Kokkos::parallel_for(
      "minigift::rms_norm_backward", row_policy(blocks), KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t b = team.league_rank();
        row_for(team, C, [&](std::int64_t c) { partial(b, c) = S(0); });
        for (std::int64_t r = b * block; r < math::min(R, (b + 1) * block); ++r) {
          const S inverse = inverse_rms(r);
          const double dot =
              row_sum<S>(team, C, [&](std::int64_t c) { return (w(c) * dy(r, c)) * (x(r, c) * inverse); });
          const S mean = static_cast<S>(dot / static_cast<double>(C));
          row_for(team, C, [&](std::int64_t c) {
            const S n = x(r, c) * inverse;
            dx(r, c) += inverse * (w(c) * dy(r, c) - n * mean);
            partial(b, c) += dy(r, c) * n;
          });
        }
      });
  constexpr std::int64_t piece = 256;
  Kokkos::parallel_for(
      "minigift::rms_norm_backward::dw", row_policy((C + piece - 1) / piece),
      KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t begin = team.league_rank() * piece;
        const std::int64_t count = math::min(piece, C - begin);
        for (std::int64_t b = 0; b < blocks; ++b)
          row_for(team, count, [&](std::int64_t c) { dw(begin + c) += partial(b, begin + c); });
      });
}

template <class S>
void residual_add(const ConstMatrix<S>& a, const ConstMatrix<S>& b, const Matrix<S>& sum) {
  const std::int64_t R = extent(sum, 0), C = extent(sum, 1);
  require_shape("residual_add", "a", a, R, C);
  require_shape("residual_add", "b", b, R, C);
  const S* const left = a.data();
  const S* const right = b.data();
  S* const result = sum.data();
  for_each_element(
      "minigift::residual_add", R * C,
      KOKKOS_LAMBDA(const std::int64_t i) { result[i] = left[i] + right[i]; });
}

#define MINIGIFT_INSTANTIATE(S)                                                                           \
  template void rms_norm_forward<S, S>(const ConstMatrix<S>&, const ConstVector<S>&,                      \
                                       std::type_identity_t<S>, const Matrix<S>&, const Vector<S>&);      \
  template void rms_norm_backward<S>(const ConstMatrix<S>&, const ConstVector<S>&, const ConstVector<S>&, \
                                     const ConstMatrix<S>&, const Matrix<S>&, const Vector<S>&);          \
  template void residual_add<S>(const ConstMatrix<S>&, const ConstMatrix<S>&, const Matrix<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
template void rms_norm_forward<float, bfloat16>(const ConstMatrix<float>&, const ConstVector<float>&, float,
                                                const Matrix<bfloat16>&, const Vector<float>&);

}  // namespace minigift
