// The optimizers. Newton-Schulz does 5 (4 p^2 q + 2 p^3) flop on a (p, q) matrix, p <= q: compare with
// gemm_benchmark. Muon adds its passes over weight, gradient and momentum. AdamW moves 28 bytes per
// parameter: compare with `copy` of whitening_benchmark, 8 bytes per element.

#include "benchmarks/filled.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/workspace.hpp"
#include "kernels/optim/adamw.hpp"
#include "kernels/optim/muon.hpp"

#include <benchmark/benchmark.h>

namespace minigift {
namespace {

void set_rate(benchmark::State& state, const char* name, double amount) {
  state.counters[name] = benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
}

void iteration(benchmark::State& state, Products products) {
  const std::int64_t m = state.range(0), n = state.range(1);
  const Matrix<float> b = filled(m, n);
  NewtonSchulzWorkspace<float> workspace;
  const auto coefficients = simple_coefficients();
  for (auto _ : state) {
    newton_schulz<float>(b, coefficients, 1e-7f, workspace, products);
    Kokkos::fence();
  }
  set_rate(state, "FLOP/s", newton_schulz_flop(m, n, 5));
}
void newton_schulz_float(benchmark::State& state) {
  iteration(state, Products::full);
}
void newton_schulz_bfloat16(benchmark::State& state) {
  iteration(state, Products::bfloat16);
}

void muon(benchmark::State& state) {
  const std::int64_t m = state.range(0), n = state.range(1);
  const Matrix<float> weight = filled(m, n), gradient = filled(m, n), momentum = filled(m, n);
  MuonWorkspace<float> workspace;
  const MuonOptions options;
  for (auto _ : state) {
    muon_step<float>(weight, gradient, momentum, 1e-3f, 1.0f, options, workspace);
    Kokkos::fence();
  }
  set_rate(state, "FLOP/s", newton_schulz_flop(m, n, 5));
}

void adamw_step(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  const Vector<float> parameter = flatten(filled(1, count)), gradient = flatten(filled(1, count));
  const auto length = static_cast<std::size_t>(count);
  const Vector<float> m("m", length), v("v", length);
  std::int64_t step = 0;
  for (auto _ : state) {
    adamw<float>(parameter, gradient, m, v, 1e-3f, 1.0f, AdamWOptions(), ++step);
    Kokkos::fence();
  }
  set_rate(state, "bytes/s", 28 * static_cast<double>(count));
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{256, 256}, {768, 256}, {256, 768}, {512, 1408}, {1024, 1024}, {2688, 1024}})
    benchmark->Args(shape)->Unit(benchmark::kMillisecond);
}

BENCHMARK(newton_schulz_float)->Apply(shapes);
BENCHMARK(newton_schulz_bfloat16)->Apply(shapes);
BENCHMARK(muon)->Apply(shapes);
BENCHMARK(adamw_step)->Arg(1 << 16)->Arg(1 << 24);

}  // namespace
}  // namespace minigift
