// Forward and backward of the whole model: tokens/s and GFLOP/s for a given shape and compute type.
//
//   model_benchmark                                          llama-16m, T = 512
//   model_benchmark --hidden=1024 --layers=16 --heads=16 --feed_forward=2688 --vocabulary=50304 --batch=1
//
// Options before Google Benchmark's own: --layers --hidden --heads --kv_heads --feed_forward --vocabulary
// --batch
// --sequence, each =N. kv_heads follows heads unless given.

#include "kernels/error.hpp"
#include "kernels/linalg/gemm.hpp"
#include "miniapp/model/llama.hpp"

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace minigift;

struct Case {
  LlamaShape shape;
  std::int64_t B, T;
};

Vector<const std::int32_t> tokens(std::int64_t count, std::int64_t vocabulary, std::int64_t seed) {
  const Vector<std::int32_t> device("tokens", static_cast<std::size_t>(count));
  const auto host = Kokkos::create_mirror_view(device);
  for (std::int64_t i = 0; i < count; ++i)
    host(static_cast<std::size_t>(i)) = static_cast<std::int32_t>((i * 7919 + seed) % vocabulary);
  Kokkos::deep_copy(device, host);
  return device;
}

void report(benchmark::State& state, const Case& c, double passes) {
  const double count = static_cast<double>(state.iterations()) * static_cast<double>(c.B * c.T);
  state.counters["tokens/s"] = benchmark::Counter(count, benchmark::Counter::kIsRate);
  state.counters["GFLOP/s"] = benchmark::Counter(1e-9 * passes * count * c.shape.forward_flops_per_token(c.T),
                                                 benchmark::Counter::kIsRate);
}

void training(benchmark::State& state, const Case& c, Compute compute, bool recompute) {
  Llama<float> model(c.shape, {.B = c.B, .T = c.T, .compute = compute, .recompute = recompute});
  model.initialise(1);
  const auto input = tokens(c.B * c.T, c.shape.vocabulary, 0);
  const auto target = tokens(c.B * c.T, c.shape.vocabulary, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(model.forward(input, target, 1.0f));
    model.backward();
    Kokkos::fence();
  }
  report(state, c, 3.0);  // backward costs two forward passes; recomputation is not counted as useful work
}

void evaluation(benchmark::State& state, const Case& c, Compute compute) {
  Llama<float> model(c.shape, {.B = c.B, .T = c.T, .compute = compute, .recompute = true});
  model.initialise(1);
  const auto input = tokens(c.B * c.T, c.shape.vocabulary, 0);
  const auto target = tokens(c.B * c.T, c.shape.vocabulary, 1);
  for (auto _ : state)
    benchmark::DoNotOptimize(model.evaluate(input, target));
  report(state, c, 1.0);
}

/// Takes this program's own options out of argv.
Case read_options(int& argc, char** argv) {
  std::map<std::string, std::int64_t> values = {{"layers", 9},   {"hidden", 384},        {"heads", 6},
                                                {"kv_heads", 0}, {"feed_forward", 1024}, {"vocabulary", 256},
                                                {"batch", 4},    {"sequence", 512}};
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    const auto option = argument.starts_with("--") && equals != std::string::npos
                            ? values.find(argument.substr(2, equals - 2))
                            : values.end();
    if (option != values.end())
      option->second = std::stoll(argument.substr(equals + 1));
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
  if (values["kv_heads"] == 0) values["kv_heads"] = values["heads"];
  Case c{{.layers = values["layers"],
          .hidden = values["hidden"],
          .heads = values["heads"],
          .kv_heads = values["kv_heads"],
          .feed_forward = values["feed_forward"],
          .vocabulary = values["vocabulary"]},
         values["batch"],
         values["sequence"]};
  c.shape.check();
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos;
  try {
    const Case c = read_options(argc, argv);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    set_linalg_threads(1);
    benchmark::AddCustomContext("linear algebra", linalg_backend());
    benchmark::AddCustomContext("parameters", fmt::format("{}", c.shape.parameter_count()));
    benchmark::AddCustomContext("micro-batch", fmt::format("{} x {} tokens", c.B, c.T));
    const auto add = [](const char* name, auto function) {
      benchmark::RegisterBenchmark(name, function)->Unit(benchmark::kMillisecond)->UseRealTime();
    };
    add("training/fp32", [c](benchmark::State& s) { training(s, c, Compute::fp32, false); });
    add("training/bf16", [c](benchmark::State& s) { training(s, c, Compute::bf16, false); });
    add("training_recompute/fp32", [c](benchmark::State& s) { training(s, c, Compute::fp32, true); });
    add("training_recompute/bf16", [c](benchmark::State& s) { training(s, c, Compute::bf16, true); });
    add("evaluation/fp32", [c](benchmark::State& s) { evaluation(s, c, Compute::fp32); });
    add("evaluation/bf16", [c](benchmark::State& s) { evaluation(s, c, Compute::bf16); });
    benchmark::RunSpecifiedBenchmarks();
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 0;
}
