#include "kernels/format/format.hpp"

#include "kernels/error.hpp"

#include <array>
#include <limits>

namespace minigift {
namespace {

struct FormatFacts {
  Format format;
  const char* name;
  std::int64_t bytes;
  double max_finite;
  double min_normal;
};
constexpr std::array<FormatFacts, 5> formats{{
    {Format::fp32, "fp32", 4, std::numeric_limits<float>::max(), 0x1p-126},
    {Format::bf16, "bf16", 2, 0x1.FEp127, 0x1p-126},
    {Format::e4m3, "e4m3", 1, 448.0, 0x1p-6},
    {Format::e5m2, "e5m2", 1, 57344.0, 0x1p-14},
    {Format::int8, "int8", 1, 127.0, 1.0},
}};

const FormatFacts& facts(Format format) {
  for (const FormatFacts& entry : formats) {
    if (entry.format == format) return entry;
  }
  throw RuntimeError("unknown number format");
}

}  // namespace

std::string name(Format format) {
  return facts(format).name;
}

Format format_from_name(std::string_view text) {
  std::string known;
  for (const FormatFacts& entry : formats) {
    if (text == entry.name) return entry.format;
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  throw UsageError(fmt::format("unknown number format \"{}\": known are {}", text, known));
}

std::string name(Rounding rounding) {
  return rounding == Rounding::nearest_even ? "nearest-even" : "stochastic";
}

Rounding rounding_from_name(std::string_view text) {
  if (text == "nearest-even") return Rounding::nearest_even;
  if (text == "stochastic") return Rounding::stochastic;
  throw UsageError(fmt::format("unknown rounding \"{}\": known are nearest-even, stochastic", text));
}

std::int64_t bytes_per_code(Format format) {
  return facts(format).bytes;
}
double max_finite(Format format) {
  return facts(format).max_finite;
}
double min_normal(Format format) {
  return facts(format).min_normal;
}
bool has_scale(Format format) {
  return is_fp8(format) || format == Format::int8;
}
bool is_fp8(Format format) {
  return format == Format::e4m3 || format == Format::e5m2;
}

}  // namespace minigift
