#include "kernels/format/counters.hpp"

#include "kernels/device/memory.hpp"

namespace minigift {

DeviceCounters::DeviceCounters() : counts_("minigift::quantize_counters", 4) {}

void DeviceCounters::reset() {
  fill(counts_, 0ull);
  elements_ = 0;
}

QuantizeCounters DeviceCounters::read() const {
  const auto host = on_host(counts_);
  return {elements_, static_cast<std::int64_t>(host(0)), static_cast<std::int64_t>(host(1)),
          static_cast<std::int64_t>(host(2)), static_cast<std::int64_t>(host(3))};
}

const Vector<unsigned long long>& DeviceCounters::add(const Tiles& tiles) {
  elements_ += tiles.elements;
  return counts_;
}

}  // namespace minigift
