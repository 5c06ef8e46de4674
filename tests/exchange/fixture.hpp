#pragma once
// A small model's tensors with gradients and activations of realistic structure, without a model.

#include "kernels/linalg/gemm.hpp"
#include "kernels/slice.hpp"
#include "miniapp/exchange/codec_exchange.hpp"
#include "miniapp/exchange/method.hpp"
#include "tests/kernels/gradient_generator.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace minigift::test {

/// A built-in method by name, changed by `edit`, for `ranks` ranks.
inline Method method_with(const std::string& name, int ranks, const std::function<void(MethodDeck&)>& edit) {
  for (MethodDeck deck : built_in_methods()) {
    if (deck.name != name) continue;
    edit(deck);
    return resolve_method(deck, ExchangeDeck{}, ranks);
  }
  throw RuntimeError("no built-in method " + name);
}
inline Method method_named(const std::string& name, int ranks) {
  return method_with(name, ranks, [](MethodDeck&) {});
}

inline LlamaShape small_shape() {
  return {.layers = 2, .hidden = 48, .heads = 4, .kv_heads = 2, .feed_forward = 80, .vocabulary = 61};
}

/// One rank's view of a training step: a flat gradient buffer, inputs per site, and the order of backward.
class SyntheticStep {
 public:
  explicit SyntheticStep(const LlamaShape& shape = small_shape())
      : registry(shape), gradients("gradients", static_cast<std::size_t>(registry.flat_size())) {}

  ParameterRegistry registry;
  Vector<float> gradients;

  /// Local gradients of this rank and step: W = delta^T x / R with x of a spiked spectrum, delta = 0.3 x M^T
  /// + noise; `rank_scale` multiplies all of them. Calls the exchange as a trainer would and returns its
  /// result.
  ExchangeResult run(GradientExchange& exchange, std::int64_t step, int rank, float rank_scale = 1.0f) {
    exchange.begin_step(step);
    fill(step, rank, rank_scale, &exchange);
    exchange.begin_backward();
    for (int t = registry.size() - 1; t >= 0; --t)
      exchange.ready(t);
    return exchange.finish();
  }

  /// Only the gradients.
  void fill(std::int64_t step, int rank, float rank_scale = 1.0f, GradientExchange* exchange = nullptr) {
    Kokkos::deep_copy(gradients, 0.0f);
    const auto token_seed = static_cast<std::uint64_t>(1000 * step + rank + 1);
    std::vector<Matrix<float>> inputs;
    for (std::size_t s = 0; s < registry.input_sites().size(); ++s) {
      const Matrix<float> basis = site_basis(s);
      const Matrix<float> z =
          normal_matrix<float>(tokens, extent(basis, 0), token_seed, static_cast<std::uint32_t>(s));
      inputs.emplace_back("inputs", z.extent(0), z.extent(1));
      gemm<float, float>(Transpose::no, Transpose::no, 1.0f, z, basis, 0.0f, inputs.back());
      if (exchange != nullptr && exchange->observes_inputs()) {
        exchange->observe_input(static_cast<int>(s), Matrix<const float>(inputs.back()));
      }
    }
    for (int t = 0; t < registry.size(); ++t) {
      const Parameter& p = registry[t];
      const Matrix<float> gradient = slice(gradients, p.offset, p.rows, p.columns);
      const auto stream = static_cast<std::uint32_t>(100 + t);
      if (p.input_site < 0) {
        Kokkos::deep_copy(gradient,
                          normal_matrix<float>(p.rows, p.columns, token_seed, stream, 1e-3 * rank_scale));
        continue;
      }
      const Matrix<float>& x = inputs[static_cast<std::size_t>(p.input_site)];
      const Matrix<float> m = normal_matrix<float>(p.rows, p.columns, 7, stream, 0.05);
      const Matrix<float> delta = normal_matrix<float>(tokens, p.rows, token_seed, stream, 1.0);
      gemm<float, float>(Transpose::no, Transpose::yes, 0.3f, x, m, 1.0f, delta);
      gemm<float, float>(Transpose::yes, Transpose::no, rank_scale / static_cast<float>(tokens), delta, x,
                         0.0f, gradient);
    }
  }

  static constexpr std::int64_t tokens = 256;

 private:
  /// Spectrum and directions of a site's inputs: the same in every step and on every rank. Kept on the host
  /// between steps, because no view may outlive Kokkos.
  Matrix<float> site_basis(std::size_t site) {
    static std::map<std::pair<std::size_t, std::int64_t>, std::vector<float>> cache;
    const std::int64_t width = registry.input_sites()[site].width;
    std::vector<float>& values = cache[{site, width}];
    if (values.empty()) {
      double mean_lambda = 0;
      const auto made = Kokkos::create_mirror_view_and_copy(
          Kokkos::HostSpace(),
          coloured_basis({.d_in = width, .spikes = 4, .spike = 100, .layer_seed = site + 1}, mean_lambda));
      values.assign(made.data(), made.data() + made.size());
    }
    const auto side = static_cast<std::size_t>(width);
    Matrix<float> basis("basis", side, side);
    Kokkos::deep_copy(basis, HostMatrix<const float>(values.data(), side, side));
    return basis;
  }
};

/// Host copy.
inline std::vector<float> host(const Vector<float>& values) {
  const auto mirror = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  return {mirror.data(), mirror.data() + mirror.size()};
}

}  // namespace minigift::test
