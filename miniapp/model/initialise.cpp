#include "miniapp/model/initialise.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/slice.hpp"

#include <cmath>
#include <limits>

namespace minigift {

namespace {

/// Training draws its random numbers from streams named by a step; the initial weights take a step that never
/// comes.
constexpr std::uint64_t initialisation_step = std::numeric_limits<std::uint64_t>::max();

template <class S>
void fill_normal(const Vector<S>& x, const PhiloxKey& key, float standard_deviation) {
  Kokkos::parallel_for(
      "minigift::fill_normal", range(size(x)), KOKKOS_LAMBDA(const std::int64_t i) {
        x(i) = static_cast<S>(standard_deviation * philox_normal(key, i));
      });
}

}  // namespace

template <class S>
void initialise_parameters(const LlamaShape& shape, const ParameterRegistry& registry, std::uint64_t seed,
                           const Vector<S>& parameters) {
  const double residual_std = shape.init_std / std::sqrt(2.0 * static_cast<double>(shape.layers));
  fill(parameters, S(0));
  for (int index = 0; index < registry.size(); ++index) {
    const Parameter& parameter = registry[index];
    const Vector<S> values = slice(parameters, parameter.offset, parameter.size());
    if (parameter.role == Role::norm) {
      fill(values, S(1));
      continue;
    }
    const bool writes_residual = parameter.role == Role::attention_o || parameter.role == Role::mlp_down;
    const double standard_deviation = writes_residual ? residual_std : shape.init_std;
    fill_normal(values, philox_key(seed, initialisation_step, static_cast<std::uint32_t>(index), 0),
                static_cast<float>(standard_deviation));
  }
}

template void initialise_parameters(const LlamaShape&, const ParameterRegistry&, std::uint64_t,
                                    const Vector<float>&);
template void initialise_parameters(const LlamaShape&, const ParameterRegistry&, std::uint64_t,
                                    const Vector<double>&);

}  // namespace minigift
