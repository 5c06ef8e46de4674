#include "miniapp/model/workspace.hpp"

#include "kernels/format/bfloat16.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/slice.hpp"

#include <algorithm>
#include <string>

namespace minigift {

namespace {

template <class T>
Matrix<T> matrix(const std::string& label, std::int64_t rows, std::int64_t columns) {
  return Matrix<T>(label, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
}

template <class T>
Vector<T> vector(const std::string& label, std::int64_t count) {
  return Vector<T>(label, static_cast<std::size_t>(count));
}

template <class View>
std::int64_t bytes_of(const View& view) {
  return size(view) * static_cast<std::int64_t>(sizeof(typename View::value_type));
}

}  // namespace

template <class S, class In>
LayerActivations<S, In>::LayerActivations(const LlamaShape& shape, std::int64_t B, std::int64_t T) {
  const std::int64_t R = B * T;
  const std::int64_t C = shape.hidden;
  attention_input = matrix<In>("attention_input", R, C);
  attention_inverse_rms = vector<S>("attention_inverse_rms", R);
  q = matrix<S>("q", R, C);
  k = matrix<S>("k", R, shape.kv_width());
  v = matrix<S>("v", R, shape.kv_width());
  attention = matrix<S>("attention", R, C);
  log_sum_exp = matrix<S>("log_sum_exp", B * shape.heads, T);
  if constexpr (std::is_same_v<S, In>)
    output_input = attention;
  else
    output_input = matrix<In>("output_input", R, C);
  middle = matrix<S>("middle", R, C);
  mlp_input = matrix<In>("mlp_input", R, C);
  mlp_inverse_rms = vector<S>("mlp_inverse_rms", R);
  gate = matrix<S>("gate", R, shape.feed_forward);
  up = matrix<S>("up", R, shape.feed_forward);
  down_input = matrix<In>("down_input", R, shape.feed_forward);
}

template <class S, class In>
std::int64_t LayerActivations<S, In>::bytes() const {
  std::int64_t total = bytes_of(attention_input) + bytes_of(attention_inverse_rms) + bytes_of(q) +
                       bytes_of(k) + bytes_of(v) + bytes_of(attention) + bytes_of(log_sum_exp) +
                       bytes_of(middle) + bytes_of(mlp_input) + bytes_of(mlp_inverse_rms) + bytes_of(gate) +
                       bytes_of(up) + bytes_of(down_input);
  if constexpr (!std::is_same_v<S, In>) total += bytes_of(output_input);
  return total;
}

template <class S, class In>
Workspace<S, In>::Workspace(const LlamaShape& shape, std::int64_t B, std::int64_t T,
                            std::int64_t logits_bytes) {
  const std::int64_t R = B * T;
  const std::int64_t C = shape.hidden;
  const std::int64_t F = shape.feed_forward;
  const std::int64_t V = shape.vocabulary;
  const std::int64_t chunk = logits_chunk_rows(R, V, static_cast<std::int64_t>(sizeof(S)), logits_bytes);
  d_stream = matrix<S>("d_stream", R, C);
  branch = matrix<S>("branch", R, C);
  d_attention = matrix<S>("d_attention", R, C);
  d_q = matrix<S>("d_q", R, C);
  d_k = matrix<S>("d_k", R, shape.kv_width());
  d_v = matrix<S>("d_v", R, shape.kv_width());
  d_down_input = matrix<S>("d_down_input", R, F);
  if constexpr (!std::is_same_v<S, In>)
    operand = vector<In>("operand", std::max(R * std::max(C, F), chunk * V));
  head_input = matrix<In>("head_input", R, C);
  head_inverse_rms = vector<S>("head_inverse_rms", R);
  logits = matrix<S>("logits", chunk, V);
  loss = vector<S>("loss", R);
}

template <class S, class In>
std::int64_t Workspace<S, In>::bytes() const {
  return bytes_of(d_stream) + bytes_of(branch) + bytes_of(d_attention) + bytes_of(d_q) + bytes_of(d_k) +
         bytes_of(d_v) + bytes_of(d_down_input) + bytes_of(operand) + bytes_of(head_input) +
         bytes_of(head_inverse_rms) + bytes_of(logits) + bytes_of(loss);
}

std::int64_t logits_chunk_rows(std::int64_t R, std::int64_t V, std::int64_t bytes_per_logit,
                               std::int64_t logits_bytes) {
  const std::int64_t most = std::max<std::int64_t>(1, logits_bytes / (V * bytes_per_logit));
  const std::int64_t chunks = (R + most - 1) / most;
  return (R + chunks - 1) / chunks;
}

template <class S, class In>
Matrix<const In> as_operand(const Matrix<S>& x, const Vector<In>& scratch) {
  if constexpr (std::is_same_v<S, In>) {
    return x;
  } else {
    const Matrix<In> rounded = slice(scratch, 0, extent(x, 0), extent(x, 1));
    convert_to_bfloat16(flatten(x), flatten(rounded));
    return rounded;
  }
}

#define MINIGIFT_INSTANTIATE(S, In)        \
  template struct LayerActivations<S, In>; \
  template struct Workspace<S, In>;        \
  template Matrix<const In> as_operand(const Matrix<S>&, const Vector<In>&);
MINIGIFT_INSTANTIATE(float, float)
MINIGIFT_INSTANTIATE(float, bfloat16)
MINIGIFT_INSTANTIATE(double, double)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
