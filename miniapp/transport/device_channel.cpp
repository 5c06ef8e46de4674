#include "miniapp/transport/device_channel.hpp"

#include "kernels/error.hpp"

namespace minigift {

Element element_of(Format format) {
  switch (format) {
    case Format::fp32:
      return Element::float32;
    case Format::bf16:
      return Element::bfloat16;
    case Format::e4m3:
      return Element::e4m3;
    case Format::e5m2:
      return Element::e5m2;
    case Format::int8:
      break;
  }
  throw RuntimeError(fmt::format("codes of format {} cannot be added", name(format)));
}

std::optional<std::string> nccl_refuses(Format format, int version, const std::vector<RankDevice>& devices) {
  if (!is_fp8(format)) return std::nullopt;
  constexpr int oldest_version = 22400;
  constexpr int oldest_capability = 90;
  if (version < oldest_version) {
    return fmt::format("NCCL adds {} codes from version 2.24 on; this is {}.{}.{}", name(format),
                       version / 10000, version / 100 % 100, version % 100);
  }
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const auto& [host, device] = devices[rank];
    if (device.compute_capability >= oldest_capability) continue;
    return fmt::format(
        "NCCL adds {} codes on GPUs of compute capability 9.0 (sm_90) and newer; rank {} has {} ({}.{}) on "
        "{}",
        name(format), rank, device.name, device.compute_capability / 10, device.compute_capability % 10,
        host);
  }
  return std::nullopt;
}

}  // namespace minigift
