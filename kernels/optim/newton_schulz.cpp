#include "kernels/optim/newton_schulz.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/pieces.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"
#include "kernels/math.hpp"
#include "kernels/scalar_lanes.hpp"

#include <algorithm>
#include <type_traits>

namespace minigift {
namespace {

/// A factor that is known to the kernels only.
template <class S>
struct DeviceFactor {
  Vector<const S> value;
  KOKKOS_FORCEINLINE_FUNCTION S operator()() const { return value(0); }
};
struct NoFactor {
  KOKKOS_FORCEINLINE_FUNCTION int operator()() const { return 1; }
};

/// to (p, q) = factor * from^T in squares, so that both sides are read and written by whole cache lines. On a
/// GPU a square goes through the scratch memory of its team, with a stride that keeps its columns in
/// different banks.
template <class S, class Factor>
struct TransposeScaled {
  static constexpr std::int64_t edge = 32;
  static constexpr int stride = edge + 1;
  Matrix<const S> from;
  Factor factor;
  Matrix<S> to;
  std::int64_t tile_columns;

  KOKKOS_FUNCTION void operator()(const std::int64_t index) const {
    const auto p = static_cast<std::int64_t>(to.extent(0)), q = static_cast<std::int64_t>(to.extent(1));
    const std::int64_t first_row = index / tile_columns * edge, first_column = index % tile_columns * edge;
    const std::int64_t last_row = first_row + edge < p ? first_row + edge : p;
    const std::int64_t last_column = first_column + edge < q ? first_column + edge : q;
    const S by = static_cast<S>(factor());
    for (std::int64_t i = first_row; i < last_row; ++i)
      for (std::int64_t j = first_column; j < last_column; ++j)
        to(i, j) = by * from(j, i);
  }
  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const auto p = static_cast<std::int64_t>(to.extent(0)), q = static_cast<std::int64_t>(to.extent(1));
    const std::int64_t first_row = team.league_rank() / tile_columns * edge;
    const std::int64_t first_column = team.league_rank() % tile_columns * edge;
    S* const square = static_cast<S*>(team.team_scratch(0).get_shmem(edge * stride * sizeof(S)));
    constexpr int side = static_cast<int>(edge);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, side * side), [&](const int n) {
      const int i = n % side, j = n / side;
      if (first_row + i < p && first_column + j < q)
        square[j * stride + i] = from(first_column + j, first_row + i);
    });
    team.team_barrier();
    const S by = static_cast<S>(factor());
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, side * side), [&](const int n) {
      const int i = n / side, j = n % side;
      if (first_row + i < p && first_column + j < q)
        to(first_row + i, first_column + j) = by * square[j * stride + i];
    });
  }
};

/// to (p, q) = factor * from, or its transpose where from is (q, p).
template <class S, class Factor>
void copy_scaled(const Matrix<const S>& from, const Factor& factor, bool transposed, const Matrix<S>& to) {
  const std::int64_t p = extent(to, 0), q = extent(to, 1);
  if (!transposed) {
    const Vector<const S> source = flatten(from);
    const Vector<S> target = flatten(to);
    Kokkos::parallel_for(
        "minigift::copy_scaled", range(p * q),
        KOKKOS_LAMBDA(const std::int64_t i) { target(i) = static_cast<S>(factor()) * source(i); });
    return;
  }
  using Transpose = TransposeScaled<S, Factor>;
  constexpr std::int64_t edge = Transpose::edge;
  const std::int64_t tile_columns = (q + edge - 1) / edge, tiles = (p + edge - 1) / edge * tile_columns;
  const Transpose transpose{from, factor, to, tile_columns};
  if constexpr (scalar_lanes) {
    Team policy = linalg::row_teams(tiles, edge * edge);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(edge * Transpose::stride * sizeof(S))));
    Kokkos::parallel_for("minigift::transpose_scaled", policy, transpose);
  } else {
    Kokkos::parallel_for("minigift::transpose_scaled", range(tiles), transpose);
  }
}

/// factor(0) = 1 / (||b||_F + epsilon), 0 for the zero matrix and epsilon 0. The host does not see it.
template <class S>
Vector<const S> inverse_norm(const Matrix<const S>& b, S epsilon) {
  const Vector<double> squares = stream_scratch<double>("minigift::newton_schulz_norm", 1);
  const Vector<S> factor = stream_scratch<S>("minigift::newton_schulz_factor", 1);
  sum_of_squares_into<S>(flatten(b), squares);
  Kokkos::parallel_for(
      "minigift::newton_schulz_factor", range(1), KOKKOS_LAMBDA(const std::int64_t) {
        const double norm = math::sqrt(squares(0)) + static_cast<double>(epsilon);
        factor(0) = static_cast<S>(norm > 0 ? 1 / norm : 0);
      });
  return factor;
}

/// polynomial = a I + b gram + c gram^2, from polynomial = c gram^2.
template <class S>
struct CompletePolynomial {
  S a, b;
  Matrix<const S> gram;
  Matrix<S> polynomial;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const auto p = static_cast<std::int64_t>(gram.extent(0));
    for (std::int64_t j = 0; j < p; ++j)
      polynomial(i, j) += b * gram(i, j);
    polynomial(i, i) += a;
  }
  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t i = team.league_rank();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, static_cast<std::int64_t>(gram.extent(0))),
                         [&](const std::int64_t j) {
                           S value = polynomial(i, j) + b * gram(i, j);
                           if (i == j) value += a;
                           polynomial(i, j) = value;
                         });
  }
};

template <class S>
void complete_polynomial(S a, S b, const Matrix<const S>& gram, const Matrix<S>& polynomial) {
  const std::int64_t p = extent(gram, 0);
  const CompletePolynomial<S> kernel{a, b, gram, polynomial};
  if constexpr (scalar_lanes) {
    Kokkos::parallel_for("minigift::newton_schulz_polynomial", linalg::row_teams(p, p), kernel);
  } else {
    Kokkos::parallel_for("minigift::newton_schulz_polynomial", range(p), kernel);
  }
}

/// The buffers of one iteration, carved from the workspace.
template <class S>
struct Buffers {
  Matrix<S> x, next;           // (p, q)
  Matrix<S> gram, polynomial;  // (p, p)
};

/// next = (a I + b S + c S^2) x with S = x x^T: three products.
template <class S>
void full_step(const Coefficients<S>& step, const Buffers<S>& buffers) {
  const auto [a, b, c] = step;
  gemm<S, S>(Transpose::no, Transpose::yes, S(1), buffers.x, buffers.x, S(0), buffers.gram);
  gemm<S, S>(Transpose::no, Transpose::no, c, buffers.gram, buffers.gram, S(0), buffers.polynomial);
  complete_polynomial<S>(a, b, buffers.gram, buffers.polynomial);
  gemm<S, S>(Transpose::no, Transpose::no, S(1), buffers.polynomial, buffers.x, S(0), buffers.next);
}

Matrix<bfloat16> narrowed(const Matrix<float>& wide, const Vector<bfloat16>& storage, std::int64_t offset) {
  const Matrix<bfloat16> narrow = slice(storage, offset, extent(wide, 0), extent(wide, 1));
  convert_to_bfloat16(flatten(wide), flatten(narrow));
  return narrow;
}

/// The same with every factor rounded to bfloat16.
void bfloat16_step(const Coefficients<float>& step, const Buffers<float>& buffers,
                   const Vector<bfloat16>& storage) {
  const auto [a, b, c] = step;
  const std::int64_t count = size(flatten(buffers.x));
  const Matrix<bfloat16> x = narrowed(buffers.x, storage, 0);
  gemm<bfloat16, float>(Transpose::no, Transpose::yes, 1.0f, x, x, 0.0f, buffers.gram);
  const Matrix<bfloat16> gram = narrowed(buffers.gram, storage, count);
  gemm<bfloat16, float>(Transpose::no, Transpose::no, c, gram, gram, 0.0f, buffers.polynomial);
  complete_polynomial<float>(a, b, buffers.gram, buffers.polynomial);
  const Matrix<bfloat16> polynomial = narrowed(buffers.polynomial, storage, count);
  gemm<bfloat16, float>(Transpose::no, Transpose::no, 1.0f, polynomial, x, 0.0f, buffers.next);
}

std::vector<Coefficients<float>> cycled(const std::vector<Coefficients<float>>& triples, int steps) {
  require(steps >= 0, "Newton-Schulz: {} steps", steps);
  std::vector<Coefficients<float>> all;
  for (int step = 0; step < steps; ++step)
    all.push_back(triples[static_cast<std::size_t>(step) % triples.size()]);
  return all;
}

}  // namespace

std::vector<Coefficients<float>> simple_coefficients(int steps) {
  return cycled({{3.4445f, -4.7750f, 2.0315f}}, steps);
}

std::vector<Coefficients<float>> quintic_coefficients(int steps) {
  return cycled({{4.0848f, -6.8946f, 2.9270f},
                 {3.9505f, -6.3029f, 2.6377f},
                 {3.7418f, -5.5913f, 2.3037f},
                 {2.8769f, -3.1427f, 1.2046f},
                 {2.8366f, -3.0525f, 1.2012f}},
                steps);
}

double newton_schulz_flop(std::int64_t m, std::int64_t n, std::int64_t steps) {
  const auto p = static_cast<double>(std::min(m, n)), q = static_cast<double>(std::max(m, n));
  return static_cast<double>(steps) * (4 * p * p * q + 2 * p * p * p);
}

template <class S>
void newton_schulz(const Matrix<S>& b, const std::vector<Coefficients<S>>& coefficients, S epsilon,
                   NewtonSchulzWorkspace<S>& workspace, Products products) {
  const bool narrow = products == Products::bfloat16;
  require(!narrow || std::is_same_v<S, float>, "Newton-Schulz: bfloat16 products need float matrices");
  const std::int64_t m = extent(b, 0), n = extent(b, 1), p = std::min(m, n), q = std::max(m, n);
  if (p == 0) return;
  reserve(workspace.elements, 2 * p * q + 2 * p * p);
  if (narrow) reserve(workspace.narrow, p * q + p * p);
  Buffers<S> buffers{slice(workspace.elements, 0, p, q), slice(workspace.elements, p * q, p, q),
                     slice(workspace.elements, 2 * p * q, p, p),
                     slice(workspace.elements, 2 * p * q + p * p, p, p)};
  const bool transposed = m > n;
  copy_scaled<S>(b, DeviceFactor<S>{inverse_norm<S>(b, epsilon)}, transposed, buffers.x);
  for (const Coefficients<S>& step : coefficients) {
    if constexpr (std::is_same_v<S, float>) {
      if (narrow) {
        bfloat16_step(step, buffers, workspace.narrow);
      } else {
        full_step(step, buffers);
      }
    } else {
      full_step(step, buffers);
    }
    std::swap(buffers.x, buffers.next);
  }
  copy_scaled<S>(buffers.x, NoFactor{}, transposed, b);
}

#define MINIGIFT_INSTANTIATE(S)                                                            \
  template void newton_schulz<S>(const Matrix<S>&, const std::vector<Coefficients<S>>&, S, \
                                 NewtonSchulzWorkspace<S>&, Products);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
