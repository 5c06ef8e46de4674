#pragma once
// JSON has no NaN and no infinity.

#include <nlohmann/json.hpp>

#include <cmath>

namespace minigift {

/// A finite value as it is; null, "not measured", for all others.
inline nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace minigift
