#pragma once
// Initial weights from a counter-based generator: the same numbers on any number of ranks and threads.

#include "kernels/view.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/model/shape.hpp"

#include <cstdint>

namespace minigift {

/// Fills the flat buffer. Matrices: N(0, init_std); the two projections that write into the residual stream
/// (o_proj, down_proj) N(0, init_std / sqrt(2 layers)), so that the stream's variance does not grow with
/// depth (Radford et al. 2019). Norms: 1. Alignment padding: 0. Element i of parameter p is a function of
/// (seed, p, i) alone.
template <class S>
void initialise_parameters(const LlamaShape& shape, const ParameterRegistry& registry, std::uint64_t seed,
                           const Vector<S>& parameters);

}  // namespace minigift
