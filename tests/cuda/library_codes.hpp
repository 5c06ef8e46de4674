#pragma once
// CUDA's own conversions, run on the device. Plain types, so that nvcc need not see Kokkos.

#include <cstdint>
#include <vector>

namespace minigift::test {

struct LibraryCodes {
  std::vector<std::uint8_t> e4m3, e5m2;  ///< with saturation
  std::vector<std::uint16_t> bfloat16;   ///< to nearest even
};

/// The codes of each value as cuda_fp8.h and cuda_bf16.h make them on the current device.
LibraryCodes library_codes(const std::vector<float>& values);

/// What each code of 0 ... 255 decodes to, through half precision, on the current device.
struct LibraryValues {
  std::vector<float> e4m3, e5m2;
};
LibraryValues library_values();

}  // namespace minigift::test
