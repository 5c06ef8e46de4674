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

/// Seconds per phase, in the order of phase_names.
using PhaseSeconds = std::array<double, phase_count>;

}  // namespace minigift
