// Memory bandwidth of the layers that do little arithmetic, beside a copy of the same size. Bytes are those
// that must move between memory and the CPU or GPU, each array counted once for reading and once for writing:
//
//   copy                     1 read + 1 written       the yardstick
//   residual_add             2 + 1
//   rms_norm forward         1 + 1 (bf16: half a write)          backward  3 + 1  (x, dy, dx; dx written)
//   rope                     1 + 1, in place
//   swiglu forward           2 + 1 (bf16: half a write)          backward  3 + 2
//   embedding forward        1 + 1                               backward  2 + 1
//   cross_entropy            1 + 1, in place; loss alone 1       rows of V logits
//
// Run:  layer_benchmark ; 8192 rows of 512 (cross-entropy: 512 rows of 50304), FP32. Threads as set for
// Kokkos.

#include "kernels/format/bfloat16.hpp"
#include "kernels/nn/cross_entropy.hpp"
#include "kernels/nn/embedding.hpp"
#include "kernels/nn/rms_norm.hpp"
#include "kernels/nn/rope.hpp"
#include "kernels/nn/swiglu.hpp"

#include <Kokkos_Core.hpp>
#include <benchmark/benchmark.h>

#include <cstdint>

namespace {

using namespace minigift;

constexpr std::size_t R = 8192, C = 512, V = 50304, loss_rows = 512;
constexpr double element = sizeof(float);

Matrix<float> ramp(std::size_t rows, std::size_t columns) {
  const Matrix<float> matrix("matrix", rows, columns);
  Kokkos::parallel_for(
      Range(0, static_cast<std::int64_t>(rows)), KOKKOS_LAMBDA(std::int64_t r) {
        for (std::int64_t c = 0; c < extent(matrix, 1); ++c)
          matrix(r, c) = static_cast<float>((r * 31 + c * 17) % 1000) * 0.002f - 1.0f;
      });
  return matrix;
}

Vector<std::int32_t> indices(std::size_t rows, std::int64_t bound) {
  const Vector<std::int32_t> result("indices", rows);
  Kokkos::parallel_for(
      Range(0, static_cast<std::int64_t>(rows)),
      KOKKOS_LAMBDA(std::int64_t r) { result(r) = static_cast<std::int32_t>(r * 7919 % bound); });
  return result;
}

/// Runs `work` and reports `bytes` for each run.
template <class Work>
void measure(benchmark::State& state, double bytes, const Work& work) {
  work();
  Kokkos::fence();
  for (auto _ : state) {
    work();
    Kokkos::fence();
  }
  state.counters["B/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
}

constexpr double array_bytes = element * static_cast<double>(R * C);

void copy(benchmark::State& state) {
  const Matrix<float> x = ramp(R, C), y("y", R, C);
  measure(state, 2 * array_bytes, [&] { Kokkos::deep_copy(y, x); });
}
void residual(benchmark::State& state) {
  const Matrix<float> a = ramp(R, C), b = ramp(R, C), sum("sum", R, C);
  measure(state, 3 * array_bytes, [&] { residual_add(a, b, sum); });
}
template <class Y>
void rms_norm_fwd(benchmark::State& state) {
  const Matrix<float> x = ramp(R, C);
  const Matrix<Y> y("y", R, C);
  const Vector<float> w("w", C), inverse("inverse", R);
  measure(state, (1 + sizeof(Y) / element) * array_bytes, [&] { rms_norm_forward(x, w, 1e-5f, y, inverse); });
}
void rms_norm_bwd(benchmark::State& state) {
  const Matrix<float> x = ramp(R, C), dy = ramp(R, C), dx("dx", R, C);
  const Vector<float> w("w", C), inverse("inverse", R), dw("dw", C);
  measure(state, 4 * array_bytes, [&] { rms_norm_backward(x, w, inverse, dy, dx, dw); });
}
void rope(benchmark::State& state) {
  const Matrix<float> x = ramp(R, C);
  const RopeTable<float> table = make_rope_table<float>(512, 64, 10000);
  measure(state, 2 * array_bytes, [&] { rope_forward(x, 512, table); });
}
template <class Y>
void swiglu_fwd(benchmark::State& state) {
  const Matrix<float> gate = ramp(R, C), up = ramp(R, C);
  const Matrix<Y> out("out", R, C);
  measure(state, (2 + sizeof(Y) / element) * array_bytes, [&] { swiglu_forward<float>(gate, up, out); });
}
void swiglu_bwd(benchmark::State& state) {
  const Matrix<float> gate = ramp(R, C), up = ramp(R, C), d_out = ramp(R, C), d_gate("d_gate", R, C),
                      d_up("d_up", R, C);
  measure(state, 5 * array_bytes, [&] { swiglu_backward(gate, up, d_out, d_gate, d_up); });
}
void embedding_fwd(benchmark::State& state) {
  const Matrix<float> table = ramp(V, C), out("out", R, C);
  const Vector<const std::int32_t> tokens = indices(R, V);
  measure(state, 2 * array_bytes, [&] { embedding_forward(tokens, table, out); });
}
void embedding_bwd(benchmark::State& state) {
  const Matrix<float> d_table("d_table", V, C), d_out = ramp(R, C);
  const Vector<const std::int32_t> tokens = indices(R, V);
  measure(state, 3 * array_bytes, [&] { embedding_backward(tokens, d_out, d_table); });
}
void cross_entropy_with_gradient(benchmark::State& state) {
  // The gradient is a valid set of logits for the next run.
  const Matrix<float> logits = ramp(loss_rows, V);
  const Vector<float> loss("loss", loss_rows);
  const Vector<const std::int32_t> targets = indices(loss_rows, V);
  measure(state, 2 * element * static_cast<double>(loss_rows * V),
          [&] { cross_entropy(logits, targets, 1.0f, loss); });
}
void cross_entropy_alone(benchmark::State& state) {
  const Matrix<float> logits = ramp(loss_rows, V);
  const Vector<float> loss("loss", loss_rows);
  const Vector<const std::int32_t> targets = indices(loss_rows, V);
  measure(state, element * static_cast<double>(loss_rows * V),
          [&] { cross_entropy_loss(logits, targets, loss); });
}

BENCHMARK(copy);
BENCHMARK(residual);
BENCHMARK_TEMPLATE(rms_norm_fwd, float);
BENCHMARK_TEMPLATE(rms_norm_fwd, bfloat16);
BENCHMARK(rms_norm_bwd);
BENCHMARK(rope);
BENCHMARK_TEMPLATE(swiglu_fwd, float);
BENCHMARK_TEMPLATE(swiglu_fwd, bfloat16);
BENCHMARK(swiglu_bwd);
BENCHMARK(embedding_fwd);
BENCHMARK(embedding_bwd);
BENCHMARK(cross_entropy_with_gradient);
BENCHMARK(cross_entropy_alone);

}  // namespace
