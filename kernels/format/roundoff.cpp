#include "kernels/format/roundoff.hpp"

namespace minigift {

double unit_roundoff(Format format) {
  switch (format) {
    case Format::fp32:
      return 0x1p-24;
    case Format::bf16:
      return 0x1p-8;
    case Format::e4m3:
      return 0x1p-4;
    case Format::e5m2:
      return 0x1p-3;
    case Format::int8:
      break;
  }
  return 0;
}

double smallest_step(Format format) {
  switch (format) {
    case Format::fp32:
      return 0x1p-149;
    case Format::bf16:
      return 0x1p-133;
    case Format::e4m3:
      return 0x1p-9;
    case Format::e5m2:
      return 0x1p-16;
    case Format::int8:
      break;
  }
  return 1;
}

}  // namespace minigift
