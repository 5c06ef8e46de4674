#include "kernels/nn/rope.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/nn/row.hpp"

#include <cmath>

namespace minigift {

template <class S>
RopeTable<S> make_rope_table(std::int64_t T, std::int64_t D, double theta) {
  require(D > 0 && D % 2 == 0, "rotary embedding needs an even head width, not {}", D);
  require(T >= 0 && theta > 0, "rotary embedding: impossible T = {} or theta = {}", T, theta);
  const std::int64_t half = D / 2;
  RopeTable<S> table;
  table.cosine =
      Matrix<S>("minigift::rope::cosine", static_cast<std::size_t>(T), static_cast<std::size_t>(half));
  table.sine = Matrix<S>("minigift::rope::sine", static_cast<std::size_t>(T), static_cast<std::size_t>(half));
  const auto cosine = host_like(table.cosine);
  const auto sine = host_like(table.sine);
  for (std::int64_t j = 0; j < half; ++j) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(D));
    for (std::int64_t t = 0; t < T; ++t) {
      cosine(t, j) = static_cast<S>(std::cos(static_cast<double>(t) * frequency));
      sine(t, j) = static_cast<S>(std::sin(static_cast<double>(t) * frequency));
    }
  }
  copy(table.cosine, cosine);
  copy(table.sine, sine);
  return table;
}

namespace {

/// Turns by +angle for direction = 1, by -angle for direction = -1.
template <class S>
void rotate(const char* label, const Matrix<S>& x, std::int64_t T, const RopeTable<S>& table, S direction) {
  const std::int64_t R = extent(x, 0), half = extent(table.cosine, 1);
  require_shape(label, "sine", table.sine, extent(table.cosine, 0), half);
  require(half > 0 && extent(x, 1) % (2 * half) == 0, "{}: rows of {} are not whole heads of width {}", label,
          extent(x, 1), 2 * half);
  require(T > 0 && T <= extent(table.cosine, 0) && R % T == 0,
          "{}: {} rows are not whole sequences of length {} within a table of {} positions", label, R, T,
          extent(table.cosine, 0));
  require(extent(x, 1) <= std::numeric_limits<int>::max(), "{}: rows of {} are too long", label,
          extent(x, 1));
  const std::int64_t heads = extent(x, 1) / (2 * half);
  const Matrix<const S> cosine = table.cosine, sine = table.sine;
  Kokkos::parallel_for(
      label, row_policy(R, heads * half), KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t r = team.league_rank();
        const std::int64_t t = r % T;
        const auto turn = [&](std::int64_t first, std::int64_t j) {
          const S c = cosine(t, j), s = direction * sine(t, j);
          const S a = x(r, first + j), b = x(r, first + half + j);
          x(r, first + j) = a * c - b * s;
          x(r, first + half + j) = b * c + a * s;
        };
        if (scalar_lanes) {
          // 32-bit indices within a row: a division is cheap then.
          const int width = static_cast<int>(half), pairs = static_cast<int>(heads * half);
          Kokkos::parallel_for(Kokkos::TeamThreadRange(team, pairs),
                               [&](int pair) { turn(pair / width * 2 * width, pair % width); });
        } else {
          for (std::int64_t h = 0; h < heads; ++h)
            row_for(team, half, [&](std::int64_t j) { turn(h * 2 * half, j); });
        }
      });
}

}  // namespace

template <class S>
void rope_forward(const Matrix<S>& x, std::int64_t T, const RopeTable<std::type_identity_t<S>>& table) {
  rotate("minigift::rope_forward", x, T, table, S(1));
}

template <class S>
void rope_backward(const Matrix<S>& dx, std::int64_t T, const RopeTable<std::type_identity_t<S>>& table) {
  rotate("minigift::rope_backward", dx, T, table, S(-1));
}

#define MINIGIFT_INSTANTIATE(S)                                                       \
  template RopeTable<S> make_rope_table<S>(std::int64_t, std::int64_t, double);       \
  template void rope_forward<S>(const Matrix<S>&, std::int64_t, const RopeTable<S>&); \
  template void rope_backward<S>(const Matrix<S>&, std::int64_t, const RopeTable<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)

}  // namespace minigift
