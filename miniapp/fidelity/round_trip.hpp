#pragma once
// What a cast to a number format and back leaves of a matrix, for every format that gradients may be sent in.

#include "kernels/format/block_format.hpp"
#include "kernels/format/format.hpp"
#include "kernels/format/tiles.hpp"
#include "kernels/view.hpp"

#include <optional>
#include <string>
#include <vector>

namespace minigift {

/// A number format with the elements that share a scale. Exactly one of `format` and `block_format` is set.
struct RoundTripFormat {
  std::string name;  ///< "e5m2", "e4m3-block512", "nvfp4", ...
  std::optional<Format> format = std::nullopt;
  std::optional<BlockFormat> block_format = std::nullopt;
  std::int64_t scale_block = 0;  ///< elements in a row of the flattened matrix that share a scale; 0: all
  double bytes_per_element = 1;  ///< on the wire, scales included (tensor scales are not worth counting)
};

/// e5m2, e4m3 (one scale per tensor), both with a scale per 512 elements, int8 with one per 128, nvfp4,
/// mxfp8, mxfp4.
const std::vector<RoundTripFormat>& round_trip_formats();
/// Throws UsageError with the nearest name.
const RoundTripFormat& round_trip_format(const std::string& name);

/// Keeps its memory, so that many matrices of one shape cost no allocation.
class RoundTrip {
 public:
  /// result <- decode(encode(u)), round to nearest even, the scale from the largest magnitude in its group.
  /// Both (m, d). A group that holds something not finite becomes NaN, all of it.
  void apply(const RoundTripFormat& format, const Matrix<const float>& u, const Matrix<float>& result);

 private:
  void apply_scaled(const RoundTripFormat& format, const Matrix<const float>& u, const Matrix<float>& result);
  void apply_blocks(BlockFormat format, const Matrix<const float>& u, const Matrix<float>& result);

  Tiles tiles_;
  std::int64_t tiles_count_ = -1, tiles_block_ = -1, groups_ = 0;  // what tiles_ were made for
  Vector<float> amax_, scale_;
  Vector<std::uint8_t> codes_;
  BlockCodes blocks_;
};

}  // namespace minigift
