#include "miniapp/model/shape.hpp"

#include "kernels/error.hpp"

#include <string_view>
#include <utility>

namespace minigift {

void LlamaShape::check() const {
  const std::pair<std::string_view, std::int64_t> sizes[] = {{"layers", layers},
                                                             {"hidden", hidden},
                                                             {"heads", heads},
                                                             {"kv_heads", kv_heads},
                                                             {"feed_forward", feed_forward},
                                                             {"vocabulary", vocabulary}};
  for (const auto& [key, value] : sizes)
    require_usage(value > 0, "model.{} = {}: must be at least 1", key, value);
  require_usage(hidden % heads == 0,
                "model.hidden = {} is not a multiple of model.heads = {}: heads must divide the hidden width",
                hidden, heads);
  require_usage(
      heads % kv_heads == 0,
      "model.heads = {} is not a multiple of model.kv_heads = {}: each key/value head serves the same "
      "number of query heads",
      heads, kv_heads);
  require_usage(
      head_width() % 2 == 0,
      "model.hidden = {} over model.heads = {} gives an odd head width {}: the rotary embedding works on "
      "pairs",
      hidden, heads, head_width());
  require_usage(rope_theta > 1.0, "model.rope_theta = {}: must be greater than 1", rope_theta);
  require_usage(rms_epsilon > 0.0, "model.rms_epsilon = {}: must be positive", rms_epsilon);
  require_usage(init_std > 0.0, "model.init_std = {}: must be positive", init_std);
}

std::int64_t LlamaShape::parameter_count() const {
  const std::int64_t C = hidden;
  const std::int64_t per_layer = 2 * C * C + 2 * C * kv_width() + 3 * C * feed_forward + 2 * C;
  return 2 * vocabulary * C + C + layers * per_layer;
}

double LlamaShape::forward_flops_per_token(std::int64_t T) const {
  const std::int64_t C = hidden;
  const std::int64_t layer_weights = 2 * C * C + 2 * C * kv_width() + 3 * C * feed_forward;
  const std::int64_t weights = layers * layer_weights + vocabulary * C;
  const double keys = 0.5 * static_cast<double>(T + 1);
  const double attention = static_cast<double>(layers * 4 * C) * keys;
  return 2.0 * static_cast<double>(weights) + attention;
}

}  // namespace minigift
