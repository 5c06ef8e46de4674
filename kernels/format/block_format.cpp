#include "kernels/format/block_format.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/block_rules.hpp"
#include "kernels/format/tile_loop.hpp"
#include "kernels/format/tiles.hpp"
#include "kernels/slice.hpp"

#include <array>

namespace minigift {
namespace {

constexpr std::array<BlockFormat, 3> formats{BlockFormat::nvfp4, BlockFormat::mxfp8, BlockFormat::mxfp4};

KOKKOS_FORCEINLINE_FUNCTION std::uint32_t magnitude_bits(float value) {
  return bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu;
}

/// 32 codes of elements multiplied by `factors`.
template <class Rules>
KOKKOS_FORCEINLINE_FUNCTION void encode_group(const float* from, const float* factors, std::uint8_t* bytes) {
  if constexpr (Rules::bits == 8) {
    for_lanes(group_elements, [=](int i) { bytes[i] = Rules::encode(from[i] * factors[i]); });
  } else {
    std::uint8_t codes[group_elements];
    std::uint8_t* const to = codes;
    for_lanes(group_elements, [=](int i) { to[i] = Rules::encode(from[i] * factors[i]); });
    for_lanes(group_elements / 2,
              [=](int i) { bytes[i] = static_cast<std::uint8_t>(to[2 * i] | (to[2 * i + 1] << 4)); });
  }
}

template <class Rules>
KOKKOS_FORCEINLINE_FUNCTION void decode_group(const std::uint8_t* bytes, const float* factors, float* to) {
  if constexpr (Rules::bits == 8) {
    for_lanes(group_elements, [=](int i) { to[i] = Rules::decode(bytes[i]) * factors[i]; });
  } else {
    std::uint8_t codes[group_elements];
    std::uint8_t* const halves = codes;
    for_lanes(group_elements / 2, [=](int i) {
      halves[2 * i] = static_cast<std::uint8_t>(bytes[i] & 0xFu);
      halves[2 * i + 1] = static_cast<std::uint8_t>(bytes[i] >> 4);
    });
    for_lanes(group_elements, [=](int i) { to[i] = Rules::decode(halves[i]) * factors[i]; });
  }
}

/// The codes of one block: on a GPU of any, on a host of those left over at the end of a row.
template <class Rules>
KOKKOS_FORCEINLINE_FUNCTION void encode_block(const float* from, int count, float inverse,
                                              std::uint8_t* bytes) {
  constexpr int per_byte = 8 / Rules::bits;
  for (int i = 0; i < count; i += per_byte) {
    std::uint32_t byte = Rules::encode(from[i] * inverse);
    if (per_byte == 2 && i + 1 < count)
      byte |= static_cast<std::uint32_t>(Rules::encode(from[i + 1] * inverse)) << 4;
    bytes[i / per_byte] = static_cast<std::uint8_t>(byte);
  }
}

template <class Rules>
KOKKOS_FORCEINLINE_FUNCTION void decode_block(const std::uint8_t* bytes, int count, float multiplier,
                                              float* to) {
  constexpr int per_byte = 8 / Rules::bits;
  for (int i = 0; i < count; ++i) {
    const auto code = static_cast<std::uint8_t>(bytes[i / per_byte] >> (i % per_byte * Rules::bits));
    to[i] = Rules::decode(code) * multiplier;
  }
}

/// The shape that both kernels work on, and where its blocks lie.
template <class Rules>
struct BlockShape {
  std::int64_t columns, row_blocks, row_bytes;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t element(std::int64_t row, std::int64_t block) const {
    return row * columns + block * Rules::elements;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t byte(std::int64_t row, std::int64_t block) const {
    return row * row_bytes + block * (Rules::elements * Rules::bits / 8);
  }
  KOKKOS_FORCEINLINE_FUNCTION int count(std::int64_t block) const {
    const std::int64_t left = columns - block * Rules::elements;
    return static_cast<int>(left < Rules::elements ? left : Rules::elements);
  }

  /// For the blocks first ... first + blocks - 1 of a row on a host: group(block) where it and those that
  /// follow have 32 elements, else single(block).
  template <class Group, class Single>
  KOKKOS_FORCEINLINE_FUNCTION void for_groups(std::int64_t first, int blocks, const Group& group,
                                              const Single& single) const {
    constexpr int group_blocks = group_elements / Rules::elements;
    const std::int64_t whole = columns / Rules::elements - first;  // blocks from `first` on
    const auto grouped = static_cast<int>((whole < blocks ? whole : blocks) / group_blocks * group_blocks);
    for (int block = 0; block < grouped; block += group_blocks)
      group(block);
    for (int block = grouped; block < blocks; ++block)
      single(block);
  }
};

/// factors[i] of the elements of a group from those of its blocks.
template <class Rules>
KOKKOS_FORCEINLINE_FUNCTION void spread(const float* of_blocks, float* factors) {
  for (int block = 0; block < group_elements / Rules::elements; ++block) {
    const float factor = of_blocks[block];
    float* const to = factors + block * Rules::elements;
    for_lanes(Rules::elements, [=](int i) { to[i] = factor; });
  }
}

/// body(first, count) for the blocks of a row, span by span.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_block_spans(std::int64_t row_blocks, const Body& body) {
  for (std::int64_t first = 0; first < row_blocks; first += span_blocks) {
    const std::int64_t left = row_blocks - first;
    body(first, static_cast<int>(left < span_blocks ? left : span_blocks));
  }
}

/// On a host an iteration is a row, taken by spans of blocks; on a GPU it is a block.
template <class Rules>
struct EncodeBlocks {
  const float* x;
  std::uint8_t* codes;
  std::uint8_t* scales;
  Vector<const float> tensor_scale;
  BlockShape<Rules> shape;
  MxScaleRule rule;

  KOKKOS_FUNCTION void operator()(const std::int64_t index) const {
    const typename Rules::Context context =
        Rules::context(Rules::has_tensor_scale ? tensor_scale(0) : 1.0f, rule);
    if constexpr (scalar_lanes) {
      const std::int64_t row = index / shape.row_blocks, block = index % shape.row_blocks;
      const std::uint8_t code = Rules::scale_code(largest_of(row, block), context);
      scales[index] = code;
      one_block(row, block, inverse_multiplier(Rules::multiplier(code, context)));
    } else {
      for_block_spans(shape.row_blocks,
                      [&](std::int64_t first, int blocks) { span(index, first, blocks, context); });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t largest_of(std::int64_t row, std::int64_t block) const {
    const float* const from = x + shape.element(row, block);
    const auto magnitude = [=](int i) { return magnitude_bits(from[i]); };
    const int count = shape.count(block);
    return count == Rules::elements ? max_lanes(Rules::elements, magnitude) : max_lanes(count, magnitude);
  }
  KOKKOS_FORCEINLINE_FUNCTION void one_block(std::int64_t row, std::int64_t block, float inverse) const {
    encode_block<Rules>(x + shape.element(row, block), shape.count(block), inverse,
                        codes + shape.byte(row, block));
  }

  KOKKOS_FORCEINLINE_FUNCTION void span(std::int64_t row, std::int64_t first, int blocks,
                                        const typename Rules::Context& context) const {
    std::uint32_t largest[span_blocks];
    float inverses[span_blocks], factors[group_elements];
    for (int block = 0; block < blocks; ++block)
      largest[block] = largest_of(row, first + block);
    const std::uint32_t* const amax = largest;
    float* const inverse = inverses;
    std::uint8_t* const scale = scales + row * shape.row_blocks + first;
    const typename Rules::Context of = context;
    for_lanes(blocks, [=](int block) { scale[block] = Rules::scale_code(amax[block], of); });
    for_lanes(blocks,
              [=](int block) { inverse[block] = inverse_multiplier(Rules::multiplier(scale[block], of)); });
    shape.for_groups(
        first, blocks,
        [&](int block) {
          spread<Rules>(inverses + block, factors);
          encode_group<Rules>(x + shape.element(row, first + block), factors,
                              codes + shape.byte(row, first + block));
        },
        [&](int block) { one_block(row, first + block, inverses[block]); });
  }
};

template <class Rules>
struct DecodeBlocks {
  const std::uint8_t* codes;
  const std::uint8_t* scales;
  Vector<const float> tensor_scale;
  BlockShape<Rules> shape;
  float* x;

  KOKKOS_FUNCTION void operator()(const std::int64_t index) const {
    const typename Rules::Context context =
        Rules::context(Rules::has_tensor_scale ? tensor_scale(0) : 1.0f, MxScaleRule::rounded_up);
    if constexpr (scalar_lanes) {
      one_block(index / shape.row_blocks, index % shape.row_blocks,
                Rules::multiplier(scales[index], context));
    } else {
      for_block_spans(shape.row_blocks,
                      [&](std::int64_t first, int blocks) { span(index, first, blocks, context); });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void one_block(std::int64_t row, std::int64_t block, float multiplier) const {
    decode_block<Rules>(codes + shape.byte(row, block), shape.count(block), multiplier,
                        x + shape.element(row, block));
  }

  KOKKOS_FORCEINLINE_FUNCTION void span(std::int64_t row, std::int64_t first, int blocks,
                                        const typename Rules::Context& context) const {
    float multipliers[span_blocks], factors[group_elements];
    float* const multiplier = multipliers;
    const std::uint8_t* const scale = scales + row * shape.row_blocks + first;
    const typename Rules::Context of = context;
    for_lanes(blocks, [=](int block) { multiplier[block] = Rules::multiplier(scale[block], of); });
    shape.for_groups(
        first, blocks,
        [&](int block) {
          spread<Rules>(multipliers + block, factors);
          decode_group<Rules>(codes + shape.byte(row, first + block), factors,
                              x + shape.element(row, first + block));
        },
        [&](int block) { one_block(row, first + block, multipliers[block]); });
  }
};

template <class Rules>
BlockShape<Rules> shape_of(const BlockCodes& codes) {
  return {codes.columns, codes.row_blocks(), codes.row_bytes()};
}

std::int64_t iterations(const BlockCodes& codes) {
  return scalar_lanes ? codes.rows * codes.row_blocks() : codes.rows;
}

template <class View>
void check_shapes(const char* what, const BlockCodes& codes, const View& x) {
  require(extent(x, 0) == codes.rows && extent(x, 1) == codes.columns,
          "{}: a matrix of shape ({}, {}) and {} codes for ({}, {})", what, extent(x, 0), extent(x, 1),
          name(codes.format), codes.rows, codes.columns);
  require(size(codes.codes) == codes.rows * codes.row_bytes() &&
              size(codes.scales) == codes.rows * codes.row_blocks() && size(codes.tensor_scale) == 1,
          "{}: {} bytes of codes, {} block scales, {} tensor scales do not hold a matrix of shape ({}, {})",
          what, size(codes.codes), size(codes.scales), size(codes.tensor_scale), codes.rows, codes.columns);
}

}  // namespace

std::string name(BlockFormat format) {
  std::string text;
  with_block_rules(format, [&](auto rules) {
    using Rules = decltype(rules);
    text = Rules::has_tensor_scale ? "nvfp4" : Rules::bits == 8 ? "mxfp8" : "mxfp4";
  });
  return text;
}

BlockFormat block_format_from_name(std::string_view text) {
  std::string known;
  for (const BlockFormat format : formats) {
    if (text == name(format)) return format;
    known += (known.empty() ? "" : ", ") + name(format);
  }
  throw UsageError(fmt::format("unknown block format \"{}\": known are {}", text, known));
}

std::int64_t block_elements(BlockFormat format) {
  return format == BlockFormat::nvfp4 ? Nvfp4::elements : Mxfp8::elements;
}
int bits_per_code(BlockFormat format) {
  return format == BlockFormat::mxfp8 ? Mxfp8::bits : Nvfp4::bits;
}
double bytes_per_element(BlockFormat format) {
  return bits_per_code(format) / 8.0 + 1.0 / static_cast<double>(block_elements(format));
}

std::int64_t BlockCodes::row_bytes() const {
  return (columns * bits_per_code(format) + 7) / 8;
}
std::int64_t BlockCodes::row_blocks() const {
  return (columns + block_elements(format) - 1) / block_elements(format);
}

BlockCodes make_block_codes(BlockFormat format, std::int64_t rows, std::int64_t columns) {
  require(rows >= 0 && columns >= 0, "{} codes: a matrix cannot have the shape ({}, {})", name(format), rows,
          columns);
  BlockCodes codes{format, rows, columns, {}, {}, Vector<float>("minigift::tensor_scale", 1)};
  codes.codes =
      Vector<std::uint8_t>("minigift::block_codes", static_cast<std::size_t>(rows * codes.row_bytes()));
  codes.scales =
      Vector<std::uint8_t>("minigift::block_scales", static_cast<std::size_t>(rows * codes.row_blocks()));
  fill(codes.tensor_scale, 1.0f);
  return codes;
}

void largest_magnitude(const Vector<const float>& x, const Vector<float>& amax) {
  require(size(amax) == 1, "largest magnitude: room for {} results", size(amax));
  const std::int64_t count = size(x);
  if (count == 0) return fill(amax, 0.0f);
  constexpr std::int64_t width = scalar_lanes ? 1 : max_tile_elements;
  // The bits of magnitudes are ordered as their values; the result stays where kernels find it.
  const Kokkos::View<std::uint32_t, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> result(
      reinterpret_cast<std::uint32_t*>(amax.data()));
  Kokkos::parallel_reduce(
      "minigift::largest_magnitude", range((count + width - 1) / width),
      KOKKOS_LAMBDA(const std::int64_t piece, std::uint32_t& largest) {
        const std::int64_t first = piece * width, left = count - first;
        const float* const from = x.data() + first;
        const std::uint32_t found = max_lanes(static_cast<int>(left < width ? left : width),
                                              [=](int i) { return magnitude_bits(from[i]); });
        constexpr std::uint32_t infinity = 0x7F800000u;
        const std::uint32_t bounded = found < infinity ? found : infinity;
        largest = bounded > largest ? bounded : largest;
      },
      Kokkos::Max<std::uint32_t, MemorySpace>(result));
}

void block_encode(const Matrix<const float>& x, const Vector<const float>& amax, const BlockCodes& to,
                  MxScaleRule rule) {
  check_shapes("block encode", to, x);
  require(to.format != BlockFormat::nvfp4 || size(amax) == 1,
          "block encode: nvfp4 needs one amax of the tensor, not {}", size(amax));
  const Vector<float> tensor_scale = to.tensor_scale;
  if (to.format == BlockFormat::nvfp4) {
    Kokkos::parallel_for(
        "minigift::tensor_scale", range(1),
        KOKKOS_LAMBDA(const std::int64_t) { tensor_scale(0) = nvfp4_tensor_scale(amax(0)); });
  } else {
    fill(tensor_scale, 1.0f);
  }
  with_block_rules(to.format, [&](auto rules) {
    using Rules = decltype(rules);
    const EncodeBlocks<Rules> kernel{x.data(),     to.codes.data(),     to.scales.data(),
                                     tensor_scale, shape_of<Rules>(to), rule};
    Kokkos::parallel_for("minigift::block_encode", range(iterations(to)), kernel);
  });
}

void block_encode(const Matrix<const float>& x, const BlockCodes& to, MxScaleRule rule) {
  if (to.format != BlockFormat::nvfp4) return block_encode(x, Vector<const float>(), to, rule);
  const Vector<float> amax = stream_scratch<float>("minigift::block_amax", 1);
  largest_magnitude(flatten(x), amax);
  block_encode(x, amax, to, rule);
}

void block_decode(const BlockCodes& from, const Matrix<float>& x) {
  check_shapes("block decode", from, x);
  with_block_rules(from.format, [&](auto rules) {
    using Rules = decltype(rules);
    const DecodeBlocks<Rules> kernel{from.codes.data(), from.scales.data(), from.tensor_scale,
                                     shape_of<Rules>(from), x.data()};
    Kokkos::parallel_for("minigift::block_decode", range(iterations(from)), kernel);
  });
}

}  // namespace minigift
