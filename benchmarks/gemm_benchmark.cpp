// Matrix products at the shapes of training. R rows (tokens), weights (C_out, C_in):
//     forward          y  (R, C_out)    = x w^T
//     backward input   dx (R, C_in)     = dy w
//     backward weight  dw (C_out, C_in) += dy^T x
// Compare each with the square product of 1024: the three of a layer decide the speed of a step.

#include "kernels/format/quantize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/workspace.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace minigift {
namespace {

enum class Pass { forward, backward_input, backward_weight };

template <class In>
Matrix<In> filled(std::int64_t rows, std::int64_t columns) {
  const Matrix<float> wide("wide", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  const Vector<float> values = flatten(wide);
  Kokkos::parallel_for(
      "minigift::benchmark_fill", Range(0, size(values)), KOKKOS_LAMBDA(const std::int64_t i) {
        values(i) = static_cast<float>(i * 2654435761 % 1024) / 512 - 1;
      });
  if constexpr (std::is_same_v<In, bfloat16>) {
    const Matrix<bfloat16> narrow("narrow", wide.extent(0), wide.extent(1));
    convert_to_bfloat16(flatten(wide), flatten(narrow));
    return narrow;
  } else if constexpr (std::is_same_v<In, double>) {
    const Matrix<double> converted("double", wide.extent(0), wide.extent(1));
    Kokkos::deep_copy(converted, 0.5);
    return converted;
  } else {
    return wide;
  }
}

template <class In, class Out>
void product(benchmark::State& state, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n,
             std::int64_t k, Out beta) {
  const Matrix<const In> a = ta == Transpose::yes ? filled<In>(k, m) : filled<In>(m, k);
  const Matrix<const In> b = tb == Transpose::yes ? filled<In>(n, k) : filled<In>(k, n);
  const Matrix<Out> c("c", static_cast<std::size_t>(m), static_cast<std::size_t>(n));
  for (auto _ : state) {
    gemm<In, Out>(ta, tb, Out(1), a, b, beta, c);
    Kokkos::fence();
  }
  const double flop = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  state.counters["FLOP/s"] = benchmark::Counter(flop, benchmark::Counter::kIsIterationInvariantRate);
}

template <class In>
void layer(benchmark::State& state, Pass pass) {
  const std::int64_t rows = state.range(0), c_in = state.range(1), c_out = state.range(2);
  switch (pass) {
    case Pass::forward:
      return product<In, float>(state, Transpose::no, Transpose::yes, rows, c_out, c_in, 0);
    case Pass::backward_input:
      return product<In, float>(state, Transpose::no, Transpose::no, rows, c_in, c_out, 0);
    case Pass::backward_weight:
      return product<In, float>(state, Transpose::yes, Transpose::no, c_out, c_in, rows, 1);
  }
}

template <class In, class Out>
void square(benchmark::State& state) {
  product<In, Out>(state, Transpose::no, Transpose::no, state.range(0), state.range(0), state.range(0), 0);
}

/// (R, C_in, C_out) of llama-4m, llama-16m, llama-60m and llama-300m: attention, gate and up, down; then the
/// LM head.
void training_shapes(benchmark::internal::Benchmark* benchmark) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{2048, 256, 256},
                                                 {2048, 256, 768},
                                                 {2048, 768, 256},
                                                 {2048, 384, 384},
                                                 {2048, 384, 1024},
                                                 {2048, 1024, 384},
                                                 {4096, 512, 512},
                                                 {4096, 512, 1408},
                                                 {4096, 1408, 512},
                                                 {4096, 1024, 1024},
                                                 {4096, 1024, 2688},
                                                 {4096, 2688, 1024},
                                                 {2048, 256, 4096}})
    benchmark->Args(shape);
}

void register_all() {
  for (const std::int64_t n : {64, 128, 256, 512, 1024, 2048}) {
    benchmark::RegisterBenchmark("square/float", square<float, float>)->Arg(n);
    benchmark::RegisterBenchmark("square/bfloat16", square<bfloat16, float>)->Arg(n);
    if (n <= 1024) benchmark::RegisterBenchmark("square/double", square<double, double>)->Arg(n);
  }
  const std::pair<const char*, Pass> passes[] = {{"forward", Pass::forward},
                                                 {"backward_input", Pass::backward_input},
                                                 {"backward_weight", Pass::backward_weight}};
  for (const auto& [name, pass] : passes) {
    benchmark::RegisterBenchmark(fmt::format("{}/float", name).c_str(), layer<float>, pass)
        ->Apply(training_shapes);
    benchmark::RegisterBenchmark(fmt::format("{}/bfloat16", name).c_str(), layer<bfloat16>, pass)
        ->Apply(training_shapes);
  }
}

}  // namespace
}  // namespace minigift

int main(int argc, char** argv) {
  Kokkos::ScopeGuard guard(argc, argv);
  minigift::set_linalg_threads(1);
  benchmark::AddCustomContext("linear algebra", minigift::linalg_backend());
  minigift::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
