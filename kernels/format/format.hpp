#pragma once
// The number formats a gradient may travel in, and how it is rounded into them.

#include <cstdint>
#include <string>
#include <string_view>

namespace minigift {

/// fp32, bf16 carry no scale. e4m3 (the "fn" variant: no infinity) and e5m2 are the OCP 8-bit floats, int8 is
/// symmetric (codes -127 ... 127; the spare code -128 stands for NaN).
enum class Format { fp32, bf16, e4m3, e5m2, int8 };

/// nearest_even: round half to even. stochastic: round up with the probability of the discarded fraction.
enum class Rounding { nearest_even, stochastic };

/// "fp32", "bf16", "e4m3", "e5m2", "int8".
std::string name(Format format);
/// The inverse of name(). Throws UsageError that lists the known names.
Format format_from_name(std::string_view text);

/// "nearest-even", "stochastic".
std::string name(Rounding rounding);
Rounding rounding_from_name(std::string_view text);

/// 4, 2, 1, 1, 1.
std::int64_t bytes_per_code(Format format);

/// Largest finite value: FLT_MAX, 2^127 (2 - 2^-7), 448, 57344, 127.
double max_finite(Format format);

/// Smallest positive normal value, 1 for int8: below it a code has fewer mantissa bits.
double min_normal(Format format);

/// Whether codes are multiplied by a scale: e4m3, e5m2, int8.
bool has_scale(Format format);

/// e4m3 or e5m2.
bool is_fp8(Format format);

}  // namespace minigift
