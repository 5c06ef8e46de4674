#pragma once
// Counts of what quantize did to its elements. They are kept in the memory of the kernels and read once per
// step, so that counting never holds up the host.

#include "kernels/format/tiles.hpp"
#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// What happened to the elements that were quantized. Every count is a number of elements.
struct QuantizeCounters {
  std::int64_t elements = 0;
  std::int64_t saturated = 0;   // x finite, |x / scale| > max_finite: beyond the largest code
  std::int64_t flushed = 0;     // x != 0, code == +-0
  std::int64_t subnormal = 0;   // 0 < |code| < smallest normal (never for int8)
  std::int64_t non_finite = 0;  // x infinite or NaN
};

/// Running counts. Kernels that count, reset() and
/// read() must follow each other on one stream, or be ordered by events.
class DeviceCounters {
 public:
  /// Nothing counted yet.
  DeviceCounters();
  DeviceCounters(const DeviceCounters&) = delete;
  DeviceCounters& operator=(const DeviceCounters&) = delete;

  /// Forgets all counts. Enqueued on the current stream.
  void reset();
  /// The counts since the last reset. The host waits for the current stream.
  QuantizeCounters read() const;

  /// For kernels: counts `tiles` as quantized and returns where the rest is added to, in the order of
  /// QuantizeCounters from `saturated` on.
  const Vector<unsigned long long>& add(const Tiles& tiles);

 private:
  Vector<unsigned long long> counts_;  // (4)
  std::int64_t elements_ = 0;
};

}  // namespace minigift
