// Bandwidth of the codecs. Every figure is bytes moved in memory per second, by these counts per element:
//
//   copy             4 read + 4 written     the yardstick: quantize and dequantize should reach half of it
//   amax             4 read
//   quantize         4 read + 1 written (bf16: 2), with a residual 4 more written
//   dequantize       1 read (bf16: 2) + 4 written; dequantize_add 4 more read
//   native_add       2 codes read + 1 written
//   to_bfloat16      4 read + 2 written, and the reverse
//   content_hash     4 read
//   boundary_counts  4 read
//   block_encode     4 read + 0.5625 (nvfp4, which reads 4 more for its tensor scale), 1.03125 (mxfp8) or
//                    0.53125 (mxfp4) written; block_decode the reverse
//   hadamard         4 read + 4 written, two passes (k + 1 flop per element each); rows of d columns in the
//   name
//
// Run:  quantize_benchmark --benchmark_filter=... ; threads as set for Kokkos.

#include "kernels/device/memory.hpp"
#include "kernels/format/block_format.hpp"
#include "kernels/format/boundary_counts.hpp"
#include "kernels/format/hadamard.hpp"
#include "kernels/format/hash.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/slice.hpp"

#include <Kokkos_Core.hpp>
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace minigift;

constexpr std::int64_t smallest = std::int64_t{1} << 12;
constexpr std::int64_t largest = std::int64_t{1} << 26;

/// Normal values of standard deviation `deviation`, the same in every run.
void fill_normal(const Vector<float>& x, float deviation) {
  const PhiloxKey key = philox_key(1, 0, 0, 0);
  Kokkos::parallel_for(
      Range(0, size(x)), KOKKOS_LAMBDA(std::int64_t i) { x(i) = deviation * philox_normal(key, i); });
}

/// A gradient-like buffer of `n` elements cut into groups of `group_elements`, with scales.
struct Problem {
  Problem(Format format_in, std::int64_t n, std::int64_t group_elements)
      : format(format_in), x("x", n), residual("residual", n), codes("codes", n * bytes_per_code(format_in)) {
    fill_normal(x, 1e-3f);
    std::vector<Tile> list;
    std::int64_t groups = 0;
    for (std::int64_t first = 0; first < n; first += group_elements) {
      append_tiles(list, first, first, std::min(group_elements, n - first), groups++);
    }
    tiles = make_tiles(list, n, n, groups);
    amax = Vector<float>("amax", groups);
    scale = Vector<float>("scale", groups);
    group_amax(x, tiles, amax);
    scales_from_amax(format, 1.0f, amax, scale);
    run_quantize(Rounding::nearest_even, false, nullptr);
    Kokkos::fence();
  }

  void run_quantize(Rounding rounding, bool keep, DeviceCounters* counters) const {
    quantize(format, rounding, x, tiles, scale, codes, keep ? residual : Vector<float>(),
             philox_key(1, 1, 0, 0), counters);
  }

  Format format;
  Vector<float> x, residual;
  Vector<std::uint8_t> codes;
  Tiles tiles;
  Vector<float> amax, scale;
};

/// Times `work` and reports `moved` bytes per element for `n` elements.
template <class Work>
void measure(benchmark::State& state, std::int64_t n, double moved, const Work& work) {
  for (auto _ : state) {
    work();
    Kokkos::fence();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(static_cast<double>(state.iterations() * n) * moved));
  state.SetItemsProcessed(state.iterations() * n);
}

void copy(benchmark::State& state) {
  const Vector<float> from("from", state.range(0)), to("to", state.range(0));
  Kokkos::deep_copy(from, 1.0f);
  measure(state, state.range(0), 8, [&] { Kokkos::deep_copy(to, from); });
}

void amax(benchmark::State& state) {
  const Problem p(Format::e4m3, state.range(0), state.range(0));
  measure(state, state.range(0), 4, [&] { group_amax(p.x, p.tiles, p.amax); });
}

void residual_amax(benchmark::State& state) {
  const Problem p(Format::e4m3, state.range(0), state.range(0));
  measure(state, state.range(0), 12, [&] { add_residual_group_amax(p.x, p.residual, p.tiles, p.amax); });
}

void quantize_format(benchmark::State& state, Format format, std::int64_t group_elements, Rounding rounding,
                     bool keep, bool count) {
  const std::int64_t n = state.range(0);
  const Problem p(format, n, group_elements == 0 ? n : group_elements);
  DeviceCounters counters;
  measure(state, n, static_cast<double>(4 + bytes_per_code(format) + (keep ? 4 : 0)),
          [&] { p.run_quantize(rounding, keep, count ? &counters : nullptr); });
}

void dequantize_format(benchmark::State& state, Format format, std::int64_t group_elements, bool add) {
  const std::int64_t n = state.range(0);
  const Problem p(format, n, group_elements == 0 ? n : group_elements);
  measure(state, n, static_cast<double>(bytes_per_code(format) + (add ? 8 : 4)), [&] {
    if (add) return dequantize_add(format, p.codes, p.tiles, p.scale, p.x);
    dequantize(format, p.codes, p.tiles, p.scale, 1.0f, p.x);
  });
}

void native_add_format(benchmark::State& state, Format format) {
  const Problem p(format, state.range(0), state.range(0));
  const Vector<std::uint8_t> sum("sum", p.codes.size());
  measure(state, state.range(0), 3.0 * static_cast<double>(bytes_per_code(format)),
          [&] { native_add(format, p.codes, sum); });
}

void to_bfloat16_conversion(benchmark::State& state) {
  const Vector<float> x("x", state.range(0));
  const Vector<bfloat16> y("y", state.range(0));
  measure(state, state.range(0), 6, [&] { convert_to_bfloat16(x, y); });
}

void from_bfloat16_conversion(benchmark::State& state) {
  const Vector<bfloat16> x("x", state.range(0));
  const Vector<float> y("y", state.range(0));
  measure(state, state.range(0), 6, [&] { convert_to_float(x, y); });
}

void hash(benchmark::State& state) {
  const Vector<float> x("x", state.range(0));
  measure(state, state.range(0), 4, [&] { benchmark::DoNotOptimize(content_hash(x)); });
}

void boundaries(benchmark::State& state, Format format) {
  const Problem p(format, state.range(0), state.range(0));
  const float scale = on_host(p.scale)(0);
  measure(state, state.range(0), 4,
          [&] { benchmark::DoNotOptimize(boundary_counts(format, p.x, scale).upper); });
}

/// A matrix of 4096 columns.
void block_format(benchmark::State& state, BlockFormat format, bool decoding) {
  const std::int64_t n = state.range(0), columns = 4096;
  const Matrix<float> x("x", n / columns, columns);
  fill_normal(flatten(x), 1e-3f);
  const BlockCodes codes = make_block_codes(format, n / columns, columns);
  block_encode(x, codes);
  const double moved = 4 + bytes_per_element(format);
  if (decoding) return measure(state, n, moved, [&] { block_decode(codes, x); });
  measure(state, n, moved + (format == BlockFormat::nvfp4 ? 4 : 0), [&] { block_encode(x, codes); });
}

/// Forward and inverse by turns, so that values keep their size.
void hadamard(benchmark::State& state, std::int64_t d) {
  const std::int64_t rows = state.range(0) / d;
  const Matrix<float> x("x", static_cast<std::size_t>(rows), static_cast<std::size_t>(d));
  fill_normal(flatten(x), 1.0f);
  const Hadamard rotation = make_hadamard(d, 1);
  bool inverse = false;
  measure(state, rows * d, 8, [&] {
    inverse ? apply_inverse_hadamard(x, rotation) : apply_hadamard(x, rotation);
    inverse = !inverse;
  });
}

void register_all() {
  const auto add = [](const std::string& name, const auto& work) {
    benchmark::RegisterBenchmark(name.c_str(), work)
        ->RangeMultiplier(8)
        ->Range(smallest, largest)
        ->UseRealTime();
  };
  add("copy", copy);
  add("amax", amax);
  add("residual_amax", residual_amax);
  const auto nearest = Rounding::nearest_even;
  for (const Format format : {Format::e4m3, Format::e5m2, Format::int8, Format::bf16}) {
    // INT8 is used with a scale per 128 elements, the floating-point formats with one per tensor.
    const std::int64_t group = format == Format::int8 ? 128 : 0;
    const std::string suffix = name(format) + (group == 0 ? "" : "-block128");
    const auto add_quantize = [&](const std::string& variant, Rounding rounding, bool keep, bool count) {
      add("quantize/" + suffix + variant,
          [=](benchmark::State& state) { quantize_format(state, format, group, rounding, keep, count); });
    };
    add_quantize("", nearest, false, false);
    add_quantize("/counters", nearest, false, true);
    add_quantize("/residual", nearest, true, false);
    add_quantize("/residual/counters", nearest, true, true);
    add_quantize("/stochastic", Rounding::stochastic, false, false);
    add("dequantize/" + suffix,
        [=](benchmark::State& state) { dequantize_format(state, format, group, false); });
    add("dequantize_add/" + suffix,
        [=](benchmark::State& state) { dequantize_format(state, format, group, true); });
  }
  for (const Format format : {Format::e4m3, Format::e5m2, Format::bf16, Format::fp32}) {
    add("native_add/" + name(format), [=](benchmark::State& state) { native_add_format(state, format); });
  }
  add("to_bfloat16", to_bfloat16_conversion);
  add("from_bfloat16", from_bfloat16_conversion);
  add("content_hash", hash);
  for (const Format format : {Format::e4m3, Format::e5m2})
    add("boundary_counts/" + name(format), [=](benchmark::State& state) { boundaries(state, format); });
  for (const std::int64_t d : {1024, 2688})
    add("hadamard/d" + std::to_string(d), [=](benchmark::State& state) { hadamard(state, d); });
  for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp8, BlockFormat::mxfp4}) {
    add("block_encode/" + name(format), [=](benchmark::State& state) { block_format(state, format, false); });
    add("block_decode/" + name(format), [=](benchmark::State& state) { block_format(state, format, true); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
