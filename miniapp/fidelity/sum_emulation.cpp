#include "miniapp/fidelity/sum_emulation.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/block_format.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/format/scale.hpp"
#include "kernels/slice.hpp"

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

/// `count` elements with one scale.
Tiles one_group(std::int64_t count) {
  std::vector<Tile> list;
  append_tiles(list, 0, 0, count, 0);
  return make_tiles(list, count, count, 1);
}

Vector<float> on_device(float value) {
  const Vector<float> scale("minigift::scale", 1);
  fill(scale, value);
  return scale;
}

float largest(const Vector<const float>& x) {
  const Vector<float> amax("minigift::amax", 1);
  largest_magnitude(x, amax);
  return on_host(amax)(0);
}

template <class T>
Vector<T> row_of(const Matrix<T>& matrix, int row) {
  return flatten(row_slice(matrix, row, 1));
}

/// Elements [begin, end) of chunk c of N nearly equal ones.
struct Chunk {
  std::int64_t begin, count;
};
Chunk chunk(std::int64_t count, int ranks, int c) {
  const std::int64_t length = (count + ranks - 1) / ranks;
  const std::int64_t begin = std::min(count, length * c);
  return {begin, std::min(length, count - begin)};
}

}  // namespace

SumEmulation::SumEmulation(Format format, const Matrix<const float>& x)
    : format_(format),
      x_(x),
      ranks_(static_cast<int>(extent(x, 0))),
      count_(extent(x, 1)),
      codes_("minigift::rank_codes", x.extent(0),
             x.extent(1) * static_cast<std::size_t>(bytes_per_code(format))),
      sum_("minigift::sum_of_codes", codes_.extent(1)) {
  for (int r = 0; r < ranks_; ++r)
    amax_.push_back(largest(row(r)));
}

Vector<const float> SumEmulation::row(int rank) const {
  return row_of(x_, rank);
}

void SumEmulation::encode(Scales scales, float headroom) {
  const float shared = *std::max_element(amax_.begin(), amax_.end());
  const Tiles tiles = one_group(count_);
  scales_.clear();
  for (int r = 0; r < ranks_; ++r) {
    const float amax = scales == Scales::shared ? shared : amax_[static_cast<std::size_t>(r)];
    const auto limit = static_cast<float>(max_finite(format_));
    scales_.push_back(scales == Scales::own_exact ? smallest_scale(amax, headroom, limit)
                                                  : power_of_two_scale(amax, headroom, limit));
    quantize(format_, Rounding::nearest_even, row(r), tiles, on_device(scales_.back()), row_of(codes_, r),
             Vector<float>(), PhiloxKey{}, nullptr);
  }
}

void SumEmulation::add_around_ring() {
  const std::int64_t bytes = bytes_per_code(format_);
  for (int c = 0; c < ranks_; ++c) {
    const Chunk part = chunk(count_, ranks_, c);
    const auto piece = [&](const Vector<std::uint8_t>& codes) {
      return slice(codes, part.begin * bytes, part.count * bytes);
    };
    const Vector<std::uint8_t> sum = piece(sum_);
    copy(sum, piece(row_of(codes_, c)));
    for (int hop = 1; hop < ranks_; ++hop)
      native_add(format_, piece(row_of(codes_, (c + hop) % ranks_)), sum);
  }
}

void SumEmulation::add_in_pairs() {
  // Rank r takes from r + stride: ((0+1)+(2+3)) + ((4+5)+...), in place.
  for (int stride = 1; stride < ranks_; stride *= 2)
    for (int r = 0; r + stride < ranks_; r += 2 * stride)
      native_add(format_, row_of(codes_, r + stride), row_of(codes_, r));
  copy(sum_, row_of(codes_, 0));
}

void SumEmulation::decode_sum(float scale, const Vector<float>& mean) const {
  dequantize(format_, sum_, one_group(count_), on_device(scale), 1.0f / static_cast<float>(ranks_), mean);
}

void SumEmulation::all_to_all(bool bf16_gather, const Vector<float>& mean) {
  encode(Scales::own, 1.0f);
  fill(mean, 0.0f);
  for (int owner = 0; owner < ranks_; ++owner) {
    const Chunk part = chunk(count_, ranks_, owner);
    if (part.count == 0) continue;
    const Tiles tiles = one_group(part.count);
    const Vector<float> sum = slice(mean, part.begin, part.count);
    for (int r = 0; r < ranks_; ++r) {
      const Vector<std::uint8_t> codes = slice(row_of(codes_, r), part.begin, part.count);
      dequantize_add(format_, codes, tiles, on_device(scales_[static_cast<std::size_t>(r)]), sum);
    }
    const Format again = bf16_gather ? Format::bf16 : format_;
    const float scale =
        bf16_gather ? 1.0f : power_of_two_scale(largest(sum), 1.0f, static_cast<float>(max_finite(format_)));
    const Vector<std::uint8_t> codes("minigift::gathered",
                                     static_cast<std::size_t>(part.count * bytes_per_code(again)));
    quantize(again, Rounding::nearest_even, sum, tiles, on_device(scale), codes, Vector<float>(), PhiloxKey{},
             nullptr);
    dequantize(again, codes, tiles, on_device(scale), 1.0f / static_cast<float>(ranks_), sum);
  }
}

void SumEmulation::mean(SumScheme scheme, int rank, const Vector<float>& mean) {
  const auto headroom = static_cast<float>(ranks_);
  switch (scheme) {
    case SumScheme::ring_synced:
    case SumScheme::ring_no_headroom:
      encode(Scales::shared, scheme == SumScheme::ring_synced ? headroom : 1.0f);
      add_around_ring();
      return decode_sum(scales_[0], mean);
    case SumScheme::tree_synced:
      encode(Scales::shared, headroom);
      add_in_pairs();
      return decode_sum(scales_[0], mean);
    case SumScheme::ring_local:
    case SumScheme::ring_local_exact:
      encode(scheme == SumScheme::ring_local ? Scales::own : Scales::own_exact, headroom);
      add_around_ring();
      return decode_sum(scales_[static_cast<std::size_t>(rank)], mean);
    case SumScheme::ring_local_synced:
      encode(Scales::own, headroom);
      add_around_ring();
      return decode_sum(*std::max_element(scales_.begin(), scales_.end()), mean);
    case SumScheme::all_to_all:
      return all_to_all(false, mean);
    case SumScheme::all_to_all_bf16:
      return all_to_all(true, mean);
  }
  throw RuntimeError("unknown way to add codes");
}

double SumEmulation::divergence() const {
  double largest = 0.0;
  for (const float scale : scales_)
    largest = std::max(largest, std::abs(static_cast<double>(scale) / static_cast<double>(scales_[0]) - 1.0));
  return largest;
}

void SumEmulation::unscaled_mean(const Vector<float>& mean) {
  const Tiles tiles = one_group(count_);
  for (int r = 0; r < ranks_; ++r)
    quantize(format_, Rounding::nearest_even, row(r), tiles, on_device(1.0f), row_of(codes_, r),
             Vector<float>(), PhiloxKey{}, nullptr);
  add_around_ring();
  decode_sum(1.0f, mean);
}

}  // namespace minigift
