#pragma once
// Scale, quantize and dequantize one bucket.
//
//   amax_g = max |x|,  s_g = 2^ceil(log2(amax_g * headroom / max_finite)),  q = cast(x / s_g),  x' = s_g q
//
// Bytes moved per element of an FP8 bucket: 4 (amax) + 4 + 1 (cast) on the way out, 1 + 4 on the way back;
// error feedback reads and writes 4 more with the maximum and writes 4 with the cast.

#include "kernels/format/quantize.hpp"
#include "kernels/view.hpp"
#include "miniapp/exchange/bucket_plan.hpp"
#include "miniapp/exchange/method.hpp"

#include <cstdint>
#include <limits>

namespace minigift {

class BucketCodec {
 public:
  static constexpr std::int64_t no_group = std::numeric_limits<std::int64_t>::max();

  /// `bucket` and `method` must outlive the codec.
  BucketCodec(const Bucket& bucket, const Method& method);

  /// x (the bucket's slice of the gradient buffer) <- x + residual, unless that is empty, and the largest
  /// magnitude of each scale group of it into amax(), in one pass. first_infinite (1) <- the first group with
  /// a value that is not finite, or no_group: in the memory of the kernels, for whoever reads it after the
  /// step's other work has been enqueued.
  void measure(const Vector<float>& x, const Vector<const float>& residual,
               const Vector<std::int64_t>& first_infinite);
  const Vector<float>& amax() const { return amax_; }

  /// scale() from amax().
  void compute_scales();
  const Vector<float>& scale() const { return scale_; }

  /// Which tensors of the bucket (by position) leave a residual; the others are cast without one.
  void set_error_feedback(const std::vector<bool>& has_residual);

  /// codes() from x. With error feedback, residual (same offsets as x) receives x - scale * code.
  void encode(const Vector<const float>& x, const Vector<float>& residual, PhiloxKey key,
              DeviceCounters& counters);
  const Vector<std::uint8_t>& codes() const { return codes_; }

  /// x <- codes * scale * factor at the tiles' places.
  void decode(const Vector<const float>& scale, float factor, const Vector<float>& x) const;

  std::int64_t bytes() const;

 private:
  const Bucket& bucket_;
  const Method& method_;
  Vector<float> amax_;          // (groups)
  Vector<float> scale_;         // (groups)
  Vector<std::uint8_t> codes_;  // native: wire_elements codes; else: N messages
  Tiles plain_tiles_;           // tiles cast without residual
  Tiles residual_tiles_;        // tiles cast with one
};

}  // namespace minigift
