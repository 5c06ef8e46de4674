#pragma once
// Attention on random inputs, its exact result, and how far rounding may take a computation in S from it.

#include "kernels/nn/attention.hpp"
#include "kernels/reference/attention.hpp"
#include "tests/kernels/nn_support.hpp"

namespace minigift::test {

template <class S>
struct AttentionCase {
  AttentionShape shape;
  std::int64_t R, q_width, kv_width;
  Sample<S> q, k, v, d_out;
  Matrix<S> q_view, k_view, v_view, d_out_view, out, log_sum_exp, d_q, d_k, d_v;

  explicit AttentionCase(const AttentionShape& the_shape, std::uint64_t seed = 1, double deviation = 1.5)
      : shape(the_shape),
        R(shape.B * shape.T),
        q_width(shape.H * shape.D),
        kv_width(shape.H_kv * shape.D),
        q(R * q_width, seed, deviation),
        k(R * kv_width, seed + 1, deviation),
        v(R * kv_width, seed + 2),
        d_out(R * q_width, seed + 3),
        q_view(to_matrix(q.values, R, q_width)),
        k_view(to_matrix(k.values, R, kv_width)),
        v_view(to_matrix(v.values, R, kv_width)),
        d_out_view(to_matrix(d_out.values, R, q_width)),
        out(poisoned(R, q_width)),
        log_sum_exp(poisoned(shape.B * shape.H, shape.T)),
        d_q(poisoned(R, q_width)),
        d_k(poisoned(R, kv_width)),
        d_v(poisoned(R, kv_width)) {}

  /// Outputs start as NaN, so that an element left unwritten is seen.
  static Matrix<S> poisoned(std::int64_t rows, std::int64_t columns) {
    const Matrix<S> matrix("poisoned", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
    Kokkos::deep_copy(matrix, std::numeric_limits<S>::quiet_NaN());
    return matrix;
  }

  void forward() const { attention_forward(shape, q_view, k_view, v_view, out, log_sum_exp); }
  void backward() const {
    attention_backward(shape, q_view, k_view, v_view, out, log_sum_exp, d_out_view, d_q, d_k, d_v);
  }
};

struct AttentionBounds {
  std::vector<double> out, log_sum_exp, d_q, d_k, d_v;
};

/// First-order running error analysis with unit roundoff u, following the computation query by query:
///   score      (D + 3) u sum|q k|/sqrt(D): the dot product, the factor and its product with q
///   p          relative: error of its score and of the maximum, rounding of the difference, 4 u of the
///   exponential,
///              6 u and the growth of the maximum for every tile that rescales, T + 4 for the sums
///   dp, delta  dot products of length D; delta also inherits the error of out
///   gradients  errors of the factors, and one u for every term that is added
inline AttentionBounds attention_bounds(const AttentionShape& shape, double u, const std::vector<double>& q,
                                        const std::vector<double>& k, const std::vector<double>& v,
                                        const std::vector<double>& d_out) {
  AttentionBounds bound{std::vector<double>(q.size(), 0.0),
                        std::vector<double>(static_cast<std::size_t>(shape.B * shape.H * shape.T), 0.0),
                        std::vector<double>(q.size(), 0.0), std::vector<double>(k.size(), 0.0),
                        std::vector<double>(k.size(), 0.0)};
  const double scale = 1 / std::sqrt(static_cast<double>(shape.D));
  const double D = static_cast<double>(shape.D);
  const double terms = static_cast<double>(shape.T * shape.H / shape.H_kv) + 4;
  for (std::int64_t b = 0; b < shape.B; ++b) {
    for (std::int64_t h = 0; h < shape.H; ++h) {
      const std::int64_t kv = h / (shape.H / shape.H_kv);
      const auto query = [&](std::int64_t t, std::int64_t d) {
        return reference::head_index(shape, shape.H, b, t, h, d);
      };
      const auto key = [&](std::int64_t s, std::int64_t d) {
        return reference::head_index(shape, shape.H_kv, b, s, kv, d);
      };
      for (std::int64_t t = 0; t < shape.T; ++t) {
        double lse = 0;
        const std::vector<double> p = reference::attention_row(shape, q, k, b, h, t, lse);
        double score_error = 0, range = 0;
        for (std::int64_t s = 0; s <= t; ++s) {
          double size = 0;
          for (std::int64_t d = 0; d < shape.D; ++d)
            size += std::abs(q[query(t, d)] * k[key(s, d)]) * scale;
          score_error = std::max(score_error, (D + 3) * u * size);
          range = std::max(range, -std::log(p[static_cast<std::size_t>(s)]));
        }
        const double tiles = static_cast<double>(t) / 32 + 1;  // no tile is smaller
        const double p_error = 2 * score_error + u * (2 * range + 6 * tiles + static_cast<double>(t) + 8);
        const double lse_error = p_error + 2 * u * std::abs(lse);
        bound.log_sum_exp[static_cast<std::size_t>((b * shape.H + h) * shape.T + t)] = lse_error;

        double delta = 0, delta_error = 0;
        std::vector<double> dp(p.size(), 0.0), dp_size(p.size(), 0.0);
        for (std::int64_t d = 0; d < shape.D; ++d) {
          double out = 0, size = 0;
          for (std::int64_t s = 0; s <= t; ++s) {
            const auto i = static_cast<std::size_t>(s);
            out += p[i] * v[key(s, d)];
            size += p[i] * std::abs(v[key(s, d)]);
            dp[i] += d_out[query(t, d)] * v[key(s, d)];
            dp_size[i] += std::abs(d_out[query(t, d)] * v[key(s, d)]);
          }
          const double error = size * (2 * p_error + (static_cast<double>(t) + tiles + 4) * u);
          bound.out[query(t, d)] = error;
          delta += d_out[query(t, d)] * out;
          delta_error += std::abs(d_out[query(t, d)]) * (error + (D + 1) * u * std::abs(out));
        }
        const double again = lse_error + score_error + u * (range + 2 * std::abs(lse) + 4);  // P recomputed
        for (std::int64_t s = 0; s <= t; ++s) {
          const auto i = static_cast<std::size_t>(s);
          const double ds = p[i] * std::abs(dp[i] - delta);
          const double ds_error = 1.01 * (again * ds + p[i] * ((D + 1) * u * dp_size[i] + delta_error +
                                                               2 * u * (std::abs(dp[i]) + std::abs(delta))));
          for (std::int64_t d = 0; d < shape.D; ++d) {
            bound.d_q[query(t, d)] += scale * std::abs(k[key(s, d)]) * (ds_error + terms * u * ds);
            bound.d_k[key(s, d)] += scale * std::abs(q[query(t, d)]) * (ds_error + terms * u * ds);
            bound.d_v[key(s, d)] += std::abs(d_out[query(t, d)]) * p[i] * (again + terms * u);
          }
        }
      }
    }
  }
  return bound;
}

/// One head or several, shared or not; widths with and without a fast path; lengths around the edge of a
/// tile.
inline const std::vector<AttentionShape> attention_shapes{
    {1, 1, 1, 1, 64},   {2, 7, 2, 2, 6},    {1, 64, 2, 1, 16}, {2, 65, 4, 2, 48}, {1, 130, 3, 1, 64},
    {1, 70, 2, 2, 128}, {1, 129, 6, 2, 32}, {3, 33, 4, 4, 40}, {1, 96, 1, 1, 80}, {1, 5, 2, 1, 1}};

}  // namespace minigift::test
