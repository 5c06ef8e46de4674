#pragma once
// The phases of a step. A phase is a Kokkos::Profiling region of this name, opened by the code that does the
// work. On one stream their exclusive times (without phases opened inside) add up to the step. On a GPU the
// exchange has a stream of its own, so its phases may overlap forward and backward: the sum is then larger
// than the step.

#include <array>
#include <string_view>

namespace minigift {

inline constexpr std::array<std::string_view, 9> phase_names = {
    "forward",      // model forward with the loss
    "backward",     // model backward
    "refresh",      // sketch of activations, factors, whitening
    "coordinates",  // to and from the communication coordinates
    "encode",       // amax, scale, quantize
    "wire",         // waiting for a collective and driving it
    "decode",       // dequantize
    "optimizer",    // clipping and update
    "other",        // the rest of the step: data, bookkeeping
};
inline constexpr std::size_t phase_count = phase_names.size();

/// Measurements made during a step that are no part of it (comparison with an FP64 sum): a region of this
/// name, and whatever is opened inside, counts for no phase.
inline constexpr std::string_view untimed_region = "check";

/// What the exchange does while the step's own stream is in it, or waits for it: from the start of a bucket
/// during backward, and from the end of backward to the result. On a host that is all of it; on a GPU, where
/// the exchange has a stream of its own, what backward does not hide. No phase: it contains phases.
inline constexpr std::string_view exchange_region = "exchange";

/// Seconds per phase, in the order of phase_names.
using PhaseSeconds = std::array<double, phase_count>;

}  // namespace minigift
