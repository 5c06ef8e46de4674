#include "miniapp/exchange/codec.hpp"

#include "kernels/device/stream.hpp"

namespace minigift {
namespace {

/// first <- index of the first maximum that is not finite, or no_group. The host does not wait for it.
void find_first_infinite(const Vector<const float>& amax, const Vector<std::int64_t>& first) {
  using Result = Kokkos::View<std::int64_t, MemorySpace>;
  Kokkos::parallel_reduce(
      "minigift::first_infinite", range(size(amax)),
      KOKKOS_LAMBDA(std::int64_t g, std::int64_t & lowest) {
        // Not <=: a NaN must not pass.
        const bool finite = amax(g) <= 3.402823466e38f;
        if (!finite && g < lowest) lowest = g;
      },
      Kokkos::Min<std::int64_t, MemorySpace>(Result(first.data())));
}

}  // namespace

BucketCodec::BucketCodec(const Bucket& bucket, const Method& method)
    : bucket_(bucket),
      method_(method),
      amax_("minigift::amax", static_cast<std::size_t>(bucket.groups)),
      scale_("minigift::scale", static_cast<std::size_t>(bucket.groups)),
      // Zero-filled: the padding between and behind the tensors stays zero codes for ever.
      codes_("minigift::codes",
             static_cast<std::size_t>(bucket.code_elements * bytes_per_code(method.format))),
      plain_tiles_(bucket.tiles) {}

void BucketCodec::measure(const Vector<float>& x, const Vector<const float>& residual,
                          const Vector<std::int64_t>& first_infinite) {
  if (residual.size() > 0) {
    add_residual_group_amax(x, residual, bucket_.tiles, amax_);
  } else {
    group_amax(x, bucket_.tiles, amax_);
  }
  find_first_infinite(amax_, first_infinite);
}

void BucketCodec::compute_scales() {
  scales_from_amax(method_.format, method_.headroom, amax_, scale_);
}

void BucketCodec::set_error_feedback(const std::vector<bool>& has_residual) {
  std::vector<Tile> plain, residual;
  for (std::size_t t = 0; t < bucket_.tensors.size(); ++t) {
    auto& target = has_residual[t] ? residual : plain;
    for (std::int64_t i = bucket_.tensor_tiles[t].begin; i < bucket_.tensor_tiles[t].end; ++i) {
      target.push_back(bucket_.host_tiles[static_cast<std::size_t>(i)]);
    }
  }
  plain_tiles_ = bucket_.make_tiles_for(plain);
  residual_tiles_ = bucket_.make_tiles_for(residual);
}

void BucketCodec::encode(const Vector<const float>& x, const Vector<float>& residual, PhiloxKey key,
                         DeviceCounters& counters) {
  if (plain_tiles_.count() > 0) {
    quantize(method_.format, method_.rounding, x, plain_tiles_, scale_, codes_, Vector<float>(), key,
             &counters);
  }
  if (residual_tiles_.count() > 0) {
    quantize(method_.format, method_.rounding, x, residual_tiles_, scale_, codes_, residual, key, &counters);
  }
}

void BucketCodec::decode(const Vector<const float>& scale, float factor, const Vector<float>& x) const {
  dequantize(method_.format, codes_, bucket_.tiles, scale, factor, x);
}

std::int64_t BucketCodec::bytes() const {
  return static_cast<std::int64_t>(codes_.size()) +
         4 * static_cast<std::int64_t>(amax_.size() + scale_.size()) +
         static_cast<std::int64_t>(sizeof(Tile)) *
             (bucket_.tiles.count() + plain_tiles_.count() + residual_tiles_.count());
}

}  // namespace minigift
