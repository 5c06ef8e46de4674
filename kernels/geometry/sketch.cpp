#include "kernels/geometry/sketch.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/geometry/entries.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"

#include <cmath>

namespace minigift {
namespace {

void check_shapes(std::int64_t features, const Matrix<const float>& omega, const Sketch& sketch) {
  require(features == extent(omega, 0) && extent(sketch.y, 0) == extent(omega, 0) &&
              extent(sketch.y, 1) == extent(omega, 1) && size(sketch.trace_count) == 2,
          "sketch of shape ({}, {}) with a test matrix ({}, {}) cannot take tokens of {} features",
          extent(sketch.y, 0), extent(sketch.y, 1), extent(omega, 0), extent(omega, 1), features);
}

void add_products(const Matrix<const float>& x, const Matrix<const float>& omega, Sketch& sketch,
                  SketchWorkspace& workspace) {
  const std::int64_t rows = extent(x, 0), k = extent(omega, 1);
  reserve(workspace.projection, rows * k);
  const Matrix<float> projection = slice(workspace.projection, 0, rows, k);
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, x, omega, 0.0f, projection);
  gemm<float, float>(Transpose::yes, Transpose::no, 1.0f, x, projection, 1.0f, sketch.y);
}

void add_products(const Matrix<const bfloat16>& x, const Matrix<const float>& omega, Sketch& sketch,
                  SketchWorkspace& workspace) {
  const std::int64_t rows = extent(x, 0), d = extent(omega, 0), k = extent(omega, 1);
  reserve(workspace.projection, rows * k);
  reserve(workspace.narrow, (d + rows) * k);
  const Matrix<float> projection = slice(workspace.projection, 0, rows, k);
  const Matrix<bfloat16> narrow_omega = slice(workspace.narrow, 0, d, k);
  const Matrix<bfloat16> narrow_projection = slice(workspace.narrow, d * k, rows, k);
  convert_to_bfloat16(flatten(omega), flatten(narrow_omega));
  gemm<bfloat16, float>(Transpose::no, Transpose::no, 1.0f, x, narrow_omega, 0.0f, projection);
  convert_to_bfloat16(flatten(projection), flatten(narrow_projection));
  gemm<bfloat16, float>(Transpose::yes, Transpose::no, 1.0f, x, narrow_projection, 1.0f, sketch.y);
}

/// The columns of a (d, k), which is overwritten, orthonormalised and rounded to bfloat16.
Matrix<float> orthonormal_bfloat16(const Matrix<double>& a) {
  const std::int64_t k = extent(a, 1);
  thin_qr(a, Matrix<double>("minigift::sketch_r", a.extent(1), a.extent(1)));
  const Matrix<float> omega("minigift::sketch_omega", a.extent(0), a.extent(1));
  geometry::for_each_entry(
      "minigift::sketch_omega", extent(a, 0), k, KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) {
        omega(i, j) = to_float(to_bfloat16(static_cast<float>(a(i, j))));
      });
  return omega;
}

}  // namespace

Sketch make_sketch(std::int64_t d, std::int64_t k) {
  return {Matrix<float>("minigift::sketch_y", static_cast<std::size_t>(d), static_cast<std::size_t>(k)),
          Vector<double>("minigift::sketch_trace_count", 2)};
}

void sketch_reset(Sketch& sketch) {
  fill(sketch.y, 0.0f);
  fill(sketch.trace_count, 0.0);
}

Matrix<float> sketch_test_matrix(std::int64_t d, std::int64_t k, std::uint64_t seed) {
  require(k >= 1 && k <= d, "a sketch of width {} needs between 1 and {} columns", k, d);
  const auto rows = static_cast<std::size_t>(d), columns = static_cast<std::size_t>(k);
  const Matrix<double> gaussian("minigift::sketch_gaussian", rows, columns);
  // The stream's last word tells it from every parameter's.
  const PhiloxKey key = philox_key(seed, 0, static_cast<std::uint32_t>(k), 0x534B4554u);
  geometry::for_each_entry(
      "minigift::sketch_gaussian", d, k, KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) {
        gaussian(i, j) = philox_normal(key, i * k + j);
      });
  return orthonormal_bfloat16(gaussian);
}

Matrix<float> sketch_warm_test_matrix(const Sketch& sketch, const Matrix<const float>& omega) {
  check_shapes(extent(omega, 0), omega, sketch);
  const Vector<const float> y = flatten(sketch.y);
  const double norm = std::sqrt(sum_of_squares<float>(y));
  require(std::isfinite(norm), "warm test matrix of shape ({}, {}): the sketch is not finite",
          extent(omega, 0), extent(omega, 1));
  const Matrix<double> span("minigift::sketch_range", omega.extent(0), omega.extent(1));
  const Vector<double> values = flatten(span);
  const Vector<const float> old = flatten(omega);
  const double factor = norm > 0 ? 1 / norm : 0;
  Kokkos::parallel_for(
      "minigift::sketch_range", range(size(values)), KOKKOS_LAMBDA(const std::int64_t i) {
        values(i) = norm > 0 ? factor * static_cast<double>(y(i)) : static_cast<double>(old(i));
      });
  return orthonormal_bfloat16(span);
}

template <class In>
void sketch_accumulate(const Matrix<const In>& x, const Matrix<const float>& omega, Sketch& sketch,
                       SketchWorkspace& workspace) {
  check_shapes(extent(x, 1), omega, sketch);
  if (extent(x, 0) == 0) return;
  add_products(x, omega, sketch, workspace);
  const Vector<double> energy = stream_scratch<double>("minigift::sketch_energy", 1);
  sum_of_squares_into<In>(flatten(x), energy);
  const double tokens = static_cast<double>(extent(x, 0));
  const Vector<double> trace_count = sketch.trace_count;
  Kokkos::parallel_for(
      "minigift::sketch_trace", range(1), KOKKOS_LAMBDA(const std::int64_t) {
        trace_count(0) += energy(0);
        trace_count(1) += tokens;
      });
}

template <class In>
void sketch_accumulate(const Matrix<const In>& x, const Matrix<const float>& omega, Sketch& sketch) {
  SketchWorkspace workspace;
  sketch_accumulate(x, omega, sketch, workspace);
}

#define MINIGIFT_INSTANTIATE(In)                                                                    \
  template void sketch_accumulate<In>(const Matrix<const In>&, const Matrix<const float>&, Sketch&, \
                                      SketchWorkspace&);                                            \
  template void sketch_accumulate<In>(const Matrix<const In>&, const Matrix<const float>&, Sketch&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(bfloat16)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift
