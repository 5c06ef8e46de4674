#pragma once
// Serial oracle for causal attention: one query at a time, with its whole row of scores.

#include "kernels/nn/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace minigift::reference {

/// Where element d of head h lies in row t of sequence b, of an array with `heads` heads.
inline std::size_t head_index(const AttentionShape& shape, std::int64_t heads, std::int64_t b, std::int64_t t,
                              std::int64_t h, std::int64_t d) {
  return static_cast<std::size_t>(((b * shape.T + t) * heads + h) * shape.D + d);
}

struct Attention {
  std::vector<double> out;          // (B*T, H*D)
  std::vector<double> log_sum_exp;  // (B*H, T)
};

/// Softmax probabilities of query (b,h,t) over the keys 0..t, and the logarithm of their denominator.
inline std::vector<double> attention_row(const AttentionShape& shape, const std::vector<double>& q,
                                         const std::vector<double>& k, std::int64_t b, std::int64_t h,
                                         std::int64_t t, double& log_sum_exp) {
  const std::int64_t kv_head = h / (shape.H / shape.H_kv);
  std::vector<double> row;
  for (std::int64_t s = 0; s <= t; ++s) {
    double dot = 0;
    for (std::int64_t d = 0; d < shape.D; ++d)
      dot += q[head_index(shape, shape.H, b, t, h, d)] * k[head_index(shape, shape.H_kv, b, s, kv_head, d)];
    row.push_back(dot / std::sqrt(static_cast<double>(shape.D)));
  }
  const double maximum = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const double score : row)
    sum += std::exp(score - maximum);
  log_sum_exp = maximum + std::log(sum);
  for (double& score : row)
    score = std::exp(score - maximum) / sum;
  return row;
}

inline Attention attention_forward(const AttentionShape& shape, const std::vector<double>& q,
                                   const std::vector<double>& k, const std::vector<double>& v) {
  Attention result{std::vector<double>(q.size(), 0.0),
                   std::vector<double>(static_cast<std::size_t>(shape.B * shape.H * shape.T))};
  for (std::int64_t b = 0; b < shape.B; ++b) {
    for (std::int64_t h = 0; h < shape.H; ++h) {
      const std::int64_t kv_head = h / (shape.H / shape.H_kv);
      for (std::int64_t t = 0; t < shape.T; ++t) {
        const auto where = static_cast<std::size_t>((b * shape.H + h) * shape.T + t);
        const std::vector<double> p = attention_row(shape, q, k, b, h, t, result.log_sum_exp[where]);
        for (std::int64_t s = 0; s <= t; ++s)
          for (std::int64_t d = 0; d < shape.D; ++d)
            result.out[head_index(shape, shape.H, b, t, h, d)] +=
                p[static_cast<std::size_t>(s)] * v[head_index(shape, shape.H_kv, b, s, kv_head, d)];
      }
    }
  }
  return result;
}

struct AttentionGradient {
  std::vector<double> d_q, d_k, d_v;
};

/// dp[s] = d_out[t].v[s];  dscore[s] = p[s] (dp[s] - sum_u p[u] dp[u]).
inline AttentionGradient attention_backward(const AttentionShape& shape, const std::vector<double>& q,
                                            const std::vector<double>& k, const std::vector<double>& v,
                                            const std::vector<double>& d_out) {
  AttentionGradient result{std::vector<double>(q.size(), 0.0), std::vector<double>(k.size(), 0.0),
                           std::vector<double>(v.size(), 0.0)};
  const double scale = 1 / std::sqrt(static_cast<double>(shape.D));
  for (std::int64_t b = 0; b < shape.B; ++b) {
    for (std::int64_t h = 0; h < shape.H; ++h) {
      const std::int64_t kv_head = h / (shape.H / shape.H_kv);
      for (std::int64_t t = 0; t < shape.T; ++t) {
        double log_sum_exp = 0;
        const std::vector<double> p = attention_row(shape, q, k, b, h, t, log_sum_exp);
        std::vector<double> dp(p.size(), 0.0);
        double mean = 0;
        for (std::int64_t s = 0; s <= t; ++s) {
          const auto index = static_cast<std::size_t>(s);
          for (std::int64_t d = 0; d < shape.D; ++d)
            dp[index] += d_out[head_index(shape, shape.H, b, t, h, d)] *
                         v[head_index(shape, shape.H_kv, b, s, kv_head, d)];
          mean += p[index] * dp[index];
        }
        for (std::int64_t s = 0; s <= t; ++s) {
          const auto index = static_cast<std::size_t>(s);
          const double d_score = p[index] * (dp[index] - mean) * scale;
          for (std::int64_t d = 0; d < shape.D; ++d) {
            const std::size_t query = head_index(shape, shape.H, b, t, h, d);
            const std::size_t key = head_index(shape, shape.H_kv, b, s, kv_head, d);
            result.d_q[query] += d_score * k[key];
            result.d_k[key] += d_score * q[query];
            result.d_v[key] += p[index] * d_out[query];
          }
        }
      }
    }
  }
  return result;
}

}  // namespace minigift::reference
