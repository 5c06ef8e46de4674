// The price of GIFT's coordinates. Per matrix (m, d) and rank r:
//     apply      one direction: 4 m d r flop, w read twice and written once (12 m d bytes)
//     gamma      the same and a copy, one pass of column norms, one of the whole norm
// and per micro-batch of R tokens:
//     sketch     4 R d k flop, x read three times
//     factor     eigenpairs from the sketch, on every rank alike, once per refresh
// For studies, from all eigenpairs of a moment (d, d):
//     spectrum            the eigendecomposition in FP64, once per moment; its checks are 4 d^3 of its flop
//     spectral_apply      one direction: 4 m d^2 flop in FP32
//     spectral_row_norms  one pass over V, 4 d^2 bytes
//     gamma_of_spectral   the apply, a copy, column norms
// The copy of w is the yardstick for bytes, gemm_benchmark for flop.

#include "benchmarks/filled.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/geometry/gamma.hpp"
#include "kernels/geometry/spectrum.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/workspace.hpp"

#include <benchmark/benchmark.h>

namespace minigift {
namespace {

void set_counters(benchmark::State& state, double flop, double bytes) {
  state.counters["FLOP/s"] = benchmark::Counter(flop, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
}

double doubled(std::int64_t a, std::int64_t b, std::int64_t c) {
  return 2 * static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

LowRankWhitening whitening_of(std::int64_t d, std::int64_t rank) {
  const std::int64_t k = std::min(d, rank + 8);
  const Matrix<float> omega = sketch_test_matrix(d, k, 1);
  Sketch sketch = make_sketch(d, k);
  sketch_accumulate<float>(filled(512, d), omega, sketch);
  return make_low_rank_whitening(nystrom_factor(sketch, omega, rank), WhiteningOptions());
}

void copy(benchmark::State& state) {
  const Matrix<float> from = filled(state.range(0), state.range(1)),
                      to = filled(state.range(0), state.range(1));
  for (auto _ : state) {
    Kokkos::deep_copy(to, from);
    Kokkos::fence();
  }
  set_counters(state, 0, 8 * static_cast<double>(to.size()));
}

/// Forward then inverse, so that w keeps its size; the counters are those of both.
void apply(benchmark::State& state) {
  const std::int64_t m = state.range(0), d = state.range(1), rank = state.range(2);
  const LowRankWhitening whitening = whitening_of(d, rank);
  const Matrix<float> w = filled(m, d);
  Vector<float> workspace;
  for (auto _ : state) {
    apply_low_rank(w, whitening.basis, whitening.forward, workspace);
    apply_low_rank(w, whitening.basis, whitening.inverse, workspace);
    Kokkos::fence();
  }
  set_counters(state, 4 * doubled(m, d, rank), 24 * static_cast<double>(w.size()));
}

void gamma_of(benchmark::State& state) {
  const std::int64_t m = state.range(0), d = state.range(1), rank = state.range(2);
  const LowRankWhitening whitening = whitening_of(d, rank);
  const Matrix<float> w = filled(m, d);
  Vector<float> workspace;
  for (auto _ : state)
    benchmark::DoNotOptimize(gamma_low_rank(w, whitening, workspace));
  set_counters(state, 2 * doubled(m, d, rank), 28 * static_cast<double>(w.size()));
}

template <class In>
void sketch(benchmark::State& state) {
  const std::int64_t rows = state.range(0), d = state.range(1), k = state.range(2);
  const Matrix<float> x = filled(rows, d), omega = sketch_test_matrix(d, k, 1);
  Matrix<In> inputs;
  if constexpr (std::is_same_v<In, bfloat16>) {
    inputs = Matrix<In>("inputs", x.extent(0), x.extent(1));
    convert_to_bfloat16(flatten(x), flatten(inputs));
  } else {
    inputs = x;
  }
  Sketch sum = make_sketch(d, k);
  SketchWorkspace workspace;
  for (auto _ : state) {
    sketch_accumulate<In>(inputs, omega, sum, workspace);
    Kokkos::fence();
  }
  set_counters(state, 2 * doubled(rows, d, k), 3.0 * sizeof(In) * static_cast<double>(x.size()));
}

void factor(benchmark::State& state) {
  const std::int64_t d = state.range(0), k = state.range(1);
  const Matrix<float> omega = sketch_test_matrix(d, k, 1);
  Sketch sum = make_sketch(d, k);
  sketch_accumulate<float>(filled(1024, d), omega, sum);
  for (auto _ : state)
    benchmark::DoNotOptimize(nystrom_factor(sum, omega, k - 8).trace);
}

Matrix<double> moment_of(std::int64_t d) {
  return second_moment(filled(d + d / 2, d));
}

/// By a given number of threads of the library.
template <EigenPrecision precision>
void spectrum(benchmark::State& state) {
  const Matrix<double> moment = moment_of(state.range(0));
  set_linalg_threads(static_cast<int>(state.range(1)));
  for (auto _ : state)
    benchmark::DoNotOptimize(spectrum_of(moment, precision).trace);
  set_linalg_threads(1);
}

/// Of (d, d) orthonormal vectors without the cost of finding them.
SpectralWhitening spectral_whitening_of(std::int64_t d) {
  Spectrum spectrum;
  const Matrix<double> zero("zero", static_cast<std::size_t>(d), static_cast<std::size_t>(d));
  spectrum = spectrum_of(zero);
  for (std::int64_t i = 0; i < d; ++i)
    spectrum.values[static_cast<std::size_t>(i)] = static_cast<double>(i + 1);
  spectrum.trace = 0.5 * static_cast<double>(d) * static_cast<double>(d + 1);
  return make_spectral_whitening(spectrum, WhiteningOptions());
}

/// Forward then inverse, as apply.
void spectral_apply(benchmark::State& state) {
  const std::int64_t m = state.range(0), d = state.range(1);
  const SpectralWhitening whitening = spectral_whitening_of(d);
  const Matrix<float> w = filled(m, d);
  Vector<float> workspace;
  set_linalg_threads(static_cast<int>(state.range(2)));
  for (auto _ : state) {
    apply_input(w, whitening, Direction::forward, workspace);
    apply_input(w, whitening, Direction::inverse, workspace);
    Kokkos::fence();
  }
  set_linalg_threads(1);
  set_counters(state, 4 * doubled(m, d, d), 0);
}

void spectral_row_norms(benchmark::State& state) {
  const std::int64_t d = state.range(0);
  const SpectralWhitening whitening = spectral_whitening_of(d);
  const Vector<double> norms("norms", static_cast<std::size_t>(d));
  for (auto _ : state) {
    inverse_row_norms(whitening, norms);
    Kokkos::fence();
  }
  set_counters(state, 0, 4 * static_cast<double>(d * d));
}

void gamma_of_spectral(benchmark::State& state) {
  const std::int64_t m = state.range(0), d = state.range(1);
  const SpectralWhitening whitening = spectral_whitening_of(d);
  const Matrix<float> w = filled(m, d);
  Vector<float> workspace;
  for (auto _ : state)
    benchmark::DoNotOptimize(gamma_input(w, whitening, workspace));
  set_counters(state, 2 * doubled(m, d, d), 0);
}

void matrix_shapes(benchmark::internal::Benchmark* benchmark) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{256, 768, 32},
                                                 {384, 1024, 32},
                                                 {512, 1408, 32},
                                                 {1024, 2688, 32},
                                                 {1024, 2688, 8}})
    benchmark->Args(shape);
}

BENCHMARK(copy)->Args({1024, 2688});
BENCHMARK(apply)->Apply(matrix_shapes);
BENCHMARK(gamma_of)->Apply(matrix_shapes);
BENCHMARK(sketch<float>)->Args({2048, 768, 40})->Args({4096, 1024, 40})->Args({4096, 2688, 40});
BENCHMARK(sketch<bfloat16>)->Args({2048, 768, 40})->Args({4096, 1024, 40})->Args({4096, 2688, 40});
void spectrum_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"d", "threads"})->ArgsProduct({{768, 1024, 2688}, {1, 2}});
  benchmark->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(spectrum<EigenPrecision::fp64>)->Apply(spectrum_shapes);
BENCHMARK(spectrum<EigenPrecision::fp32>)->Apply(spectrum_shapes);
BENCHMARK(spectral_apply)
    ->ArgNames({"m", "d", "threads"})
    ->Args({512, 1408, 1})
    ->Args({1024, 2688, 1})
    ->Args({1024, 2688, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(spectral_row_norms)->Arg(2688);
BENCHMARK(gamma_of_spectral)->Args({1024, 2688})->Unit(benchmark::kMillisecond);
BENCHMARK(factor)->Args({768, 40})->Args({2688, 40})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace minigift
