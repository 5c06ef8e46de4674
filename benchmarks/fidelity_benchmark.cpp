// Every transform of the catalogue on one MLP gradient of llama-300m's shape, (1024, 2688), in E5M2 and E4M3:
// what `minigift fidelity --only tables` does for it, eigendecompositions included. The argument is the
// number of threads of the linear algebra.

#include "kernels/device/stream.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/geometry/dense.hpp"
#include "kernels/linalg/gemm.hpp"
#include "miniapp/fidelity/one_step.hpp"

#include <benchmark/benchmark.h>

#include <memory>

namespace {

using namespace minigift;

constexpr std::int64_t tokens = 4096;

/// (tokens, columns), normal, with a few strong columns.
Matrix<float> random_tokens(std::int64_t columns, std::uint64_t seed) {
  const Matrix<float> x("tokens", static_cast<std::size_t>(tokens), static_cast<std::size_t>(columns));
  const PhiloxKey key = philox_key(seed, 0, 0, 0);
  Kokkos::parallel_for(
      "minigift::benchmark_tokens", range(tokens * columns), KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t column = i % columns;
        x(i / columns, column) = philox_normal(key, i) * (column < 12 ? 10.0f : 1.0f);
      });
  return x;
}

void one_tensor(benchmark::State& state) {
  const Matrix<float> x = random_tokens(2688, 1), dy = random_tokens(1024, 2);
  const Matrix<double> a = second_moment(x), g = second_moment(dy);
  const Matrix<float> w("gradient", 1024, 2688);
  gemm<float, float>(Transpose::yes, Transpose::no, 1.0f, dy, x, 0.0f, w);
  set_linalg_threads(static_cast<int>(state.range(0)));
  std::vector<RoundTripFormat> formats = {round_trip_format("e5m2")};
  if (state.range(1) == 2) formats.push_back(round_trip_format("e4m3"));
  OneStepStudy study({.transforms = transform_catalog(), .formats = formats, .muon_formats = {}});
  for (auto _ : state) {
    LayerGeometry geometry;
    geometry.input = std::make_shared<MomentGeometry>(a);
    geometry.output = std::make_shared<MomentGeometry>(g);
    geometry.tokens = tokens;
    benchmark::DoNotOptimize(study.run({}, w, geometry));
  }
  state.counters["rows"] = static_cast<double>(formats.size() * transform_catalog().size());
  set_linalg_threads(1);
}
BENCHMARK(one_tensor)
    ->ArgNames({"threads", "formats"})
    ->Args({1, 1})
    ->Args({2, 1})
    ->Args({2, 2})
    ->Unit(benchmark::kSecond)
    ->UseRealTime();

/// The part that all transforms share.
void eigenpairs(benchmark::State& state) {
  const std::int64_t d = state.range(0);
  const Matrix<double> a = second_moment(random_tokens(d, 1));
  for (auto _ : state)
    benchmark::DoNotOptimize(MomentGeometry(a).spectrum.values.data());
}
BENCHMARK(eigenpairs)->Arg(1024)->Arg(2688)->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
