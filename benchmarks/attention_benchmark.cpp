// Speed of causal attention. FLOPs count only pairs (query, key) that the mask lets through, T(T+1)/2 per
// head, with 4 D for each pair forward (two products) and 10 D backward (five products); exponentials are not
// counted.
//
// Run:  attention_benchmark ; arguments are T, H, H_kv, D with B*T = 4096 tokens. Threads as set for Kokkos.

#include "kernels/nn/attention.hpp"

#include <Kokkos_Core.hpp>
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>

namespace {

using namespace minigift;

constexpr std::int64_t tokens = 4096;

template <class S>
struct Problem {
  explicit Problem(const benchmark::State& state)
      : shape{tokens / state.range(0), state.range(0), state.range(1), state.range(2), state.range(3)},
        q(filled(shape.H * shape.D, 0.31)),
        k(filled(shape.H_kv * shape.D, 0.17)),
        v(filled(shape.H_kv * shape.D, 0.23)),
        d_out(filled(shape.H * shape.D, 0.41)),
        out("out", q.extent(0), q.extent(1)),
        log_sum_exp("log_sum_exp", static_cast<std::size_t>(shape.B * shape.H),
                    static_cast<std::size_t>(shape.T)),
        d_q("d_q", q.extent(0), q.extent(1)),
        d_k("d_k", k.extent(0), k.extent(1)),
        d_v("d_v", k.extent(0), k.extent(1)) {}

  /// Values between -1 and 1 without a pattern in the sense of the scores.
  static Matrix<S> filled(std::int64_t columns, double frequency) {
    const Matrix<S> matrix("matrix", static_cast<std::size_t>(tokens), static_cast<std::size_t>(columns));
    const auto host = Kokkos::create_mirror_view(matrix);
    for (std::int64_t r = 0; r < tokens; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        host(r, c) = static_cast<S>(std::sin(frequency * static_cast<double>(r * 131 + c * c * 17 + c)));
    Kokkos::deep_copy(matrix, host);
    return matrix;
  }

  double pairs() const {
    return static_cast<double>(shape.B * shape.H) * static_cast<double>(shape.T) *
           static_cast<double>(shape.T + 1) / 2;
  }

  AttentionShape shape;
  Matrix<S> q, k, v, d_out, out, log_sum_exp, d_q, d_k, d_v;
};

void report(benchmark::State& state, double flops) {
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

template <class S>
void forward(benchmark::State& state) {
  const Problem<S> problem(state);
  for (auto _ : state) {
    attention_forward(problem.shape, problem.q, problem.k, problem.v, problem.out, problem.log_sum_exp);
    Kokkos::fence();
  }
  report(state, 4 * static_cast<double>(problem.shape.D) * problem.pairs());
}

template <class S>
void backward(benchmark::State& state) {
  const Problem<S> problem(state);
  attention_forward(problem.shape, problem.q, problem.k, problem.v, problem.out, problem.log_sum_exp);
  for (auto _ : state) {
    attention_backward(problem.shape, problem.q, problem.k, problem.v, problem.out, problem.log_sum_exp,
                       problem.d_out, problem.d_q, problem.d_k, problem.d_v);
    Kokkos::fence();
  }
  report(state, 10 * static_cast<double>(problem.shape.D) * problem.pairs());
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"T", "H", "H_kv", "D"})->Unit(benchmark::kMillisecond);
  for (const std::int64_t T : {256, 512, 1024})
    benchmark->Args({T, 6, 6, 64});
  benchmark->Args({512, 16, 16, 64})->Args({512, 16, 4, 64});
  benchmark->Args({512, 8, 8, 32})->Args({512, 8, 8, 128})->Args({512, 8, 8, 48});
}

BENCHMARK_TEMPLATE(forward, float)->Apply(shapes);
BENCHMARK_TEMPLATE(backward, float)->Apply(shapes);
BENCHMARK_TEMPLATE(forward, double)
    ->ArgNames({"T", "H", "H_kv", "D"})
    ->Args({512, 6, 6, 64})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(backward, double)
    ->ArgNames({"T", "H", "H_kv", "D"})
    ->Args({512, 6, 6, 64})
    ->Unit(benchmark::kMillisecond);

}  // namespace
