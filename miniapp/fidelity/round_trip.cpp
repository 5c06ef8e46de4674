#include "miniapp/fidelity/round_trip.hpp"

#include "kernels/error.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/linalg/workspace.hpp"
#include "kernels/slice.hpp"
#include "miniapp/deck/deck.hpp"

namespace minigift {

const std::vector<RoundTripFormat>& round_trip_formats() {
  static const std::vector<RoundTripFormat> formats = {
      {.name = "e5m2", .format = Format::e5m2},
      {.name = "e4m3", .format = Format::e4m3},
      {.name = "e5m2-block512",
       .format = Format::e5m2,
       .scale_block = 512,
       .bytes_per_element = 1 + 4.0 / 512},
      {.name = "e4m3-block512",
       .format = Format::e4m3,
       .scale_block = 512,
       .bytes_per_element = 1 + 4.0 / 512},
      {.name = "int8", .format = Format::int8, .scale_block = 128, .bytes_per_element = 1 + 4.0 / 128},
      {.name = "mxfp8",
       .block_format = BlockFormat::mxfp8,
       .bytes_per_element = bytes_per_element(BlockFormat::mxfp8)},
      {.name = "nvfp4",
       .block_format = BlockFormat::nvfp4,
       .bytes_per_element = bytes_per_element(BlockFormat::nvfp4)},
      {.name = "mxfp4",
       .block_format = BlockFormat::mxfp4,
       .bytes_per_element = bytes_per_element(BlockFormat::mxfp4)},
  };
  return formats;
}

const RoundTripFormat& round_trip_format(const std::string& name) {
  std::vector<std::string> names;
  for (const RoundTripFormat& format : round_trip_formats()) {
    if (format.name == name) return format;
    names.push_back(format.name);
  }
  throw UsageError(fmt::format("number format \"{}\" is unknown{}; known: {}", name,
                               nearest_name(name, names), fmt::join(names, ", ")));
}

void RoundTrip::apply(const RoundTripFormat& format, const Matrix<const float>& u,
                      const Matrix<float>& result) {
  if (format.block_format) {
    apply_blocks(*format.block_format, u, result);
  } else {
    apply_scaled(format, u, result);
  }
}

void RoundTrip::apply_scaled(const RoundTripFormat& format, const Matrix<const float>& u,
                             const Matrix<float>& result) {
  const Vector<const float> flat = flatten(u);
  const std::int64_t count = size(flat);
  if (tiles_count_ != count || tiles_block_ != format.scale_block) {
    const std::int64_t block = format.scale_block > 0 ? format.scale_block : count;
    std::vector<Tile> list;
    groups_ = 0;
    for (std::int64_t begin = 0; begin < count; begin += block)
      append_tiles(list, begin, begin, std::min(block, count - begin), groups_++);
    tiles_ = make_tiles(list, count, count, groups_);
    tiles_count_ = count;
    tiles_block_ = format.scale_block;
  }
  reserve(amax_, groups_);
  reserve(scale_, groups_);
  reserve(codes_, count * bytes_per_code(*format.format));
  const Vector<float> amax = slice(amax_, 0, groups_), scale = slice(scale_, 0, groups_);
  const Vector<std::uint8_t> codes = slice(codes_, 0, count * bytes_per_code(*format.format));
  group_amax(flat, tiles_, amax);
  scales_from_amax(*format.format, 1.0f, amax, scale);
  quantize(*format.format, Rounding::nearest_even, flat, tiles_, scale, codes, Vector<float>(), PhiloxKey{},
           nullptr);
  dequantize(*format.format, codes, tiles_, scale, 1.0f, flatten(result));
}

void RoundTrip::apply_blocks(BlockFormat format, const Matrix<const float>& u, const Matrix<float>& result) {
  if (blocks_.codes.size() == 0 || blocks_.format != format || blocks_.rows != extent(u, 0) ||
      blocks_.columns != extent(u, 1)) {
    blocks_ = make_block_codes(format, extent(u, 0), extent(u, 1));
  }
  block_encode(u, blocks_);
  block_decode(blocks_, result);
}

}  // namespace minigift
