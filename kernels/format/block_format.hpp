#pragma once
// Formats whose elements share a scale by block: NVFP4, MXFP8, MXFP4. Blocks run along the columns of a
// matrix and never across rows; the last block of a row may be shorter.
//
//   format   element   block   scale of a block   bytes per element   RelL2 of Gaussian values
//   nvfp4    E2M1      16      E4M3 (and FP32     0.5625              0.095
//                              for the tensor)
//   mxfp8    E4M3      32      E8M0               1.03125             0.0265
//   mxfp4    E2M1      32      E8M0               0.53125             0.116
//
// With the truncated MX rule the errors are 0.029 (mxfp8, whose largest elements saturate) and 0.114 (mxfp4).
//
// nvfp4   tensor  = amax / (448 * 6), at least 2^-117, 0 -> 1         decode scale of the tensor, FP32
//         block   = E4M3(amax_block / (6 * tensor))                   rounded to nearest even
//         scale   = block * tensor                                    with the *rounded* block scale
// mx      scale   = 2^e by MxScaleRule (e8m0.hpp)
// both    code    = round(x * (1 / scale)), nearest even, saturating; value = code * scale
//
// A block of zeros decodes to zeros. In nvfp4 so does a block below about 2e-6 of the tensor's amax, whose
// scale rounds to zero; RelL2 over a tensor does not see it.
//
// Nothing non-finite is lost: a block that holds an infinity or a NaN gets a NaN as scale and decodes to NaN.
// In nvfp4 the tensor's amax and scale become infinity then, and the whole tensor decodes to NaN, as in
// quantize.hpp. Finite values above 0.8 FLT_MAX may decode to infinity.
//
// Rules: OCP MX specification v1.0; NVIDIA's description of NVFP4 in its Transformer Engine.

#include "kernels/format/e8m0.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace minigift {

enum class BlockFormat { nvfp4, mxfp8, mxfp4 };

/// "nvfp4", "mxfp8", "mxfp4".
std::string name(BlockFormat format);
/// The inverse of name(). Throws UsageError that lists the known names.
BlockFormat block_format_from_name(std::string_view text);

/// Elements that share a scale: 16, 32, 32.
std::int64_t block_elements(BlockFormat format);
/// Bits of a code without its share of the scale: 4, 8, 4.
int bits_per_code(BlockFormat format);
/// Of rows without a shorter block, scales included, the tensor's scale not: 0.5625, 1.03125, 0.53125.
double bytes_per_element(BlockFormat format);

/// A matrix (rows, columns) in a block format, in the memory of the kernels.
struct BlockCodes {
  BlockFormat format = BlockFormat::nvfp4;
  std::int64_t rows = 0, columns = 0;
  /// rows * row_bytes(): rows begin at bytes. 4-bit codes: column 2j in the low half of byte j, column 2j + 1
  /// in the high half, which is zero beyond the last column.
  Vector<std::uint8_t> codes;
  Vector<std::uint8_t> scales;  ///< rows * row_blocks()
  Vector<float> tensor_scale;   ///< (1); 1 for the MX formats

  std::int64_t row_bytes() const;
  std::int64_t row_blocks() const;
};

/// Memory for the codes of a matrix. Throws RuntimeError for negative extents.
BlockCodes make_block_codes(BlockFormat format, std::int64_t rows, std::int64_t columns);

/// amax(0) = max |x|, +infinity if an element is not finite, 0 without elements. What ranks combine by MAX
/// before they encode, where their blocks are to share a tensor scale. 4 bytes read per element.
void largest_magnitude(const Vector<const float>& x, const Vector<float>& amax);

/// Encodes x (rows, columns) into `to`, made for its shape. `amax` (1) is that of the tensor, as
/// largest_magnitude gives it, and used by nvfp4 alone. Elements beyond it saturate. Enqueued on the current
/// stream. Reads 4 bytes per element (the second time within a block from the cache) and writes
/// bytes_per_element. Throws RuntimeError if shapes do not fit.
void block_encode(const Matrix<const float>& x, const Vector<const float>& amax, const BlockCodes& to,
                  MxScaleRule rule = MxScaleRule::rounded_up);
/// The same with the amax of x itself, for nvfp4 one more pass over x.
void block_encode(const Matrix<const float>& x, const BlockCodes& to,
                  MxScaleRule rule = MxScaleRule::rounded_up);

/// x (rows, columns) <- codes * scale. Enqueued on the current stream.
void block_decode(const BlockCodes& from, const Matrix<float>& x);

}  // namespace minigift
