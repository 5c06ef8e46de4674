#pragma once
// From FP32 gradients to codes and back, over the tiles of a wire layout (tiles.hpp).
//
// The scale is the *decode* scale: value = scale * code. For group g
//
//   amax[g]  = max |x|                                                          group_amax
//   scale[g] = smallest power of two with amax * headroom / scale <= max_finite   scales_from_amax   (e4m3,
//   e5m2) scale[g] = smallest float        with amax * headroom / scale <= 127 (int8) code     = round(x * (1
//   / scale)),  residual = x - scale * code             quantize x        = code * (scale * factor)
//   dequantize
//
// With a power of two the products with scale and 1/scale are exact, so the only error is the rounding to the
// format. `headroom` H >= 1 leaves room for a sum of H codes. fp32 and bf16 have no scale: `scale` is ignored
// and may be empty.
//
// Non-finite values: a group that holds one has amax = scale = +infinity. Its finite elements get code 0, the
// non-finite ones NaN, and decoding multiplies by infinity, so the whole group decodes to NaN: nothing
// non-finite is lost silently. A caller must look at amax (or at the counters) before it uses such a group,
// and must not keep its residual.
//
// All results are bit-identical for any number of threads. Sizes and offsets are in elements. The functions
// enqueue work on the current stream and do not wait for it.

#include "kernels/format/bfloat16.hpp"
#include "kernels/format/counters.hpp"
#include "kernels/format/format.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/format/tiles.hpp"
#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// amax[g] = max |x| over the tiles of g, +infinity if one element is not finite, 0 for a group without
/// elements. amax (groups) is overwritten. Reads 4 bytes per element.
void group_amax(const Vector<const float>& x, const Tiles& tiles, const Vector<float>& amax);

/// x += residual and group_amax of the sum in one pass, for the elements of the tiles; the others of x keep
/// their value. Equal bits to the two steps one after the other. Reads 8 bytes and writes 4 per element, 4
/// less than in two passes.
void add_residual_group_amax(const Vector<float>& x, const Vector<const float>& residual, const Tiles& tiles,
                             const Vector<float>& amax);

/// The scales of the rules above; amax == 0 gives 1, +infinity or NaN gives +infinity. Scales are kept within
/// [2^-126, 2^126], so that scale and 1/scale are normal floats: below amax * headroom = max_finite * 2^-126
/// small values flush to zero (and are counted), above max_finite * 2^126 (reached only with a headroom) they
/// saturate. Throws RuntimeError unless headroom is finite and positive. For fp32 and bf16 every finite amax
/// gives 1.
void scales_from_amax(Format format, float headroom, const Vector<const float>& amax,
                      const Vector<float>& scale);

/// codes[wire] = round(x[source] / scale[group]). If residual is not empty: residual[source] = x - scale *
/// code, with one rounding (fused), so it is exact whenever it is representable; residual may be x itself.
/// stochastic rounding takes its random word from (key, wire index): see stochastic_word().
/// If counters is not null, the counts of this call are added to it, on the device. Reads 4 bytes, writes
/// bytes_per_code (+ 4).
void quantize(Format format, Rounding rounding, const Vector<const float>& x, const Tiles& tiles,
              const Vector<const float>& scale, const Vector<std::uint8_t>& codes,
              const Vector<float>& residual, PhiloxKey key, DeviceCounters* counters);

/// x[source] = code[wire] * (scale[group] * factor).
void dequantize(Format format, const Vector<const std::uint8_t>& codes, const Tiles& tiles,
                const Vector<const float>& scale, float factor, const Vector<float>& x);

/// x[source] += scale[group] * code[wire], fused, one rounding: the shard owner's FP32 sum.
void dequantize_add(Format format, const Vector<const std::uint8_t>& codes, const Tiles& tiles,
                    const Vector<const float>& scale, const Vector<float>& x);

/// x[source] = sum over p = 0 ... peers - 1 of scale[p * groups + group] * code[p * stride + wire], in this
/// order, each step fused with one rounding, from zero on: equal bits to a zeroed x and dequantize_add for
/// one p after the other. `codes` holds `peers` runs of `stride` codes. If amax (groups) is not empty,
/// group_amax of the result in the same pass. Reads peers * bytes_per_code and writes 4 bytes per element,
/// instead of 4 + peers * (bytes_per_code + 8), and 4 more for the maxima.
void dequantize_sum(Format format, const Vector<const std::uint8_t>& codes, int peers, std::int64_t stride,
                    const Tiles& tiles, const Vector<const float>& scale, std::int64_t groups,
                    const Vector<float>& x, const Vector<float>& amax);

/// One hop of a reduction that adds codes: accumulator = cast(float(incoming) + float(accumulator)), element
/// by element on raw bytes, nearest even. e4m3 and e5m2 saturate, so finite codes never give infinity or NaN;
/// fp32 and bf16 follow IEEE (overflow is infinity). Throws RuntimeError for int8 (its codes cannot be
/// added), different lengths, or a length or address that is not a multiple of the code's size.
void native_add(Format format, const Vector<const std::uint8_t>& incoming,
                const Vector<std::uint8_t>& accumulator);

/// y = x rounded to nearest even, and back. Extents must be equal.
void convert_to_bfloat16(const Vector<const float>& x, const Vector<bfloat16>& y);
void convert_to_float(const Vector<const bfloat16>& x, const Vector<float>& y);

/// The random word that rounds wire element w: word (w mod 64) / 16 of block 16 (w div 64) + w mod 16. This
/// order lets 16 lanes compute 16 blocks and use all their words for 64 consecutive elements.
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t stochastic_word(const PhiloxKey& key, std::int64_t wire) {
  const std::int64_t block = ((wire >> 6) << 4) + (wire & 15);
  return philox_block(key, block).word((wire >> 4) & 3);
}

}  // namespace minigift
