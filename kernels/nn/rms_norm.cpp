#include "kernels/nn/rms_norm.hpp"

#include "kernels/device/memory.hpp"
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
      "minigift::rms_norm_forward", row_policy(R, C), KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t r = team.league_rank();
        const double squares = row_sum<S>(team, C, [&](std::int64_t c) { return x(r, c) * x(r, c); });
        const S inverse = math::rsqrt(static_cast<S>(squares / static_cast<double>(C)) + epsilon);
        row_for(team, C, [&](std::int64_t c) { y(r, c) = stored_as<Y>(w(c) * (x(r, c) * inverse)); });
        Kokkos::single(Kokkos::PerTeam(team), [&]() { inverse_rms(r) = inverse; });
      });
}

namespace {

/// How many blocks of rows have a partial sum of dw each, and the fewest rows in one; the same for any number
/// of threads. On a GPU enough for a few teams to every multiprocessor.
constexpr std::int64_t most_blocks = scalar_lanes ? 1024 : 256;
constexpr std::int64_t least_rows = scalar_lanes ? 8 : 16;

// With n = x * inverse_rms (the normalised row) and g = w * dy (the gradient by n):
//   dx += inverse_rms * (g - n * mean(g * n)),   dw += sum over rows of dy * n.
//
// A team adds up dw over its block of rows in order, in its own row of `partial`; a second kernel adds up the
// blocks in an order that their number fixes.
template <class S>
struct RmsNormBackward {
  ConstMatrix<S> x;
  ConstVector<S> w, inverse_rms;
  ConstMatrix<S> dy;
  Matrix<S> dx, partial;
  std::int64_t block;
  bool in_scratch;  // a team's sums are kept in its fast memory meanwhile

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t R = static_cast<std::int64_t>(x.extent(0)), C = static_cast<std::int64_t>(x.extent(1));
    const std::int64_t b = team.league_rank();
    S* sum = &partial(b, 0);
    if (in_scratch) sum = static_cast<S*>(team.team_scratch(0).get_shmem(partial.extent(1) * sizeof(S)));
    // An element of sum belongs to one thread throughout.
    row_for(team, C, [&](std::int64_t c) { sum[c] = S(0); });
    for (std::int64_t r = b * block; r < math::min(R, (b + 1) * block); ++r) {
      const S inverse = inverse_rms(r);
      const double dot =
          row_sum<S>(team, C, [&](std::int64_t c) { return (w(c) * dy(r, c)) * (x(r, c) * inverse); });
      const S mean = static_cast<S>(dot / static_cast<double>(C));
      row_for(team, C, [&](std::int64_t c) {
        const S n = x(r, c) * inverse;
        dx(r, c) += inverse * (w(c) * dy(r, c) - n * mean);
        sum[c] += dy(r, c) * n;
      });
    }
    if (in_scratch) row_for(team, C, [&](std::int64_t c) { partial(b, c) = sum[c]; });
  }
};

/// dw += the sum of the blocks. On a host a piece of columns at a time, block after block. On a GPU a team
/// has 32 columns and 16 threads to each: every one adds up each 16th block, and one of them the 16 sums.
template <class S>
struct SumBlocks {
  static constexpr int columns = scalar_lanes ? 32 : 256, slices = 16;
  Matrix<S> partial;
  Vector<S> dw;

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t blocks = static_cast<std::int64_t>(partial.extent(0));
    const std::int64_t begin = team.league_rank() * columns;
    const std::int64_t left = static_cast<std::int64_t>(partial.extent(1)) - begin;
    const std::int64_t count = left < columns ? left : columns;
    if constexpr (scalar_lanes) {
      S* const sums = static_cast<S*>(team.team_scratch(0).get_shmem(columns * slices * sizeof(S)));
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, columns * slices), [&](int n) {
        const int slice = n / columns, c = n % columns;
        S sum = S(0);
        if (c < count)
          for (std::int64_t b = slice; b < blocks; b += slices)
            sum += partial(b, begin + c);
        sums[n] = sum;
      });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, static_cast<int>(count)), [&](int c) {
        S sum = S(0);
        for (int slice = 0; slice < slices; ++slice)
          sum += sums[slice * columns + c];
        dw(begin + c) += sum;
      });
    } else {
      for (std::int64_t b = 0; b < blocks; ++b)
        row_for(team, count, [&](std::int64_t c) { dw(begin + c) += partial(b, begin + c); });
    }
  }
};

}  // namespace

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

  const std::int64_t block = math::max(least_rows, (R + most_blocks - 1) / most_blocks);
  const std::int64_t blocks = (R + block - 1) / block;
  const Vector<S> memory = stream_scratch<S>("minigift::rms_norm_backward", blocks * C);
  const Matrix<S> partial(memory.data(), static_cast<std::size_t>(blocks), static_cast<std::size_t>(C));
  const std::int64_t bytes = C * std::int64_t{sizeof(S)};
  const bool in_scratch = scalar_lanes && bytes <= Team::scratch_size_max(0);
  Team policy = row_policy(blocks, C);
  if (in_scratch) policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes)));
  Kokkos::parallel_for("minigift::rms_norm_backward", policy,
                       RmsNormBackward<S>{x, w, inverse_rms, dy, dx, partial, block, in_scratch});
  using Sum = SumBlocks<S>;
  Team sum_policy = row_policy((C + Sum::columns - 1) / Sum::columns, 8 * Sum::columns * Sum::slices);
  if constexpr (scalar_lanes)
    sum_policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Sum::columns * Sum::slices * sizeof(S))));
  Kokkos::parallel_for("minigift::rms_norm_backward::dw", sum_policy, Sum{partial, dw});
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
