#include "miniapp/exchange/second_moments.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/format/hash.hpp"
#include "kernels/linalg/gemm.hpp"

#include <algorithm>

namespace minigift {
namespace {

KOKKOS_FORCEINLINE_FUNCTION float as_float(float x) {
  return x;
}
KOKKOS_FORCEINLINE_FUNCTION float as_float(bfloat16 x) {
  return to_float(x);
}

/// trace_count += (sum of squares of x, rows of x).
template <class In>
void add_trace_and_count(const Matrix<const In>& x, const Vector<double>& trace_count) {
  const std::int64_t rows = extent(x, 0), columns = extent(x, 1);
  double trace = 0.0;
  Kokkos::parallel_reduce(
      "minigift::trace", range(rows),
      KOKKOS_LAMBDA(std::int64_t r, double& sum) {
        double row = 0.0;
        for (std::int64_t c = 0; c < columns; ++c) {
          const float value = as_float(x(r, c));
          row += static_cast<double>(value) * static_cast<double>(value);
        }
        sum += row;
      },
      trace);
  Kokkos::parallel_for(
      "minigift::count", range(1), KOKKOS_LAMBDA(std::int64_t) {
        trace_count(0) += trace;
        trace_count(1) += static_cast<double>(rows);
      });
}

}  // namespace

SecondMoments::SecondMoments(const Method& method, const std::vector<std::int64_t>& site_width,
                             std::uint64_t seed)
    : dense_(method.coordinates != CoordinateSystem::input_low_rank), sites_(site_width.size()) {
  for (std::size_t s = 0; s < sites_.size(); ++s) {
    Site& site = sites_[s];
    site.width = site_width[s];
    if (site.width == 0) continue;
    if (dense_) {
      site.sketch = make_sketch(site.width, site.width);
    } else {
      const std::int64_t columns = std::min(method.rank + method.oversample, site.width);
      site.omega = sketch_test_matrix(site.width, columns, seed + s);
      site.sketch = make_sketch(site.width, columns);
    }
  }
}

template <class In>
void SecondMoments::observe_any(int site, const Matrix<const In>& x) {
  Site& target = sites_[static_cast<std::size_t>(site)];
  if (target.width == 0) return;
  if (dense_) {
    gemm<In, float>(Transpose::yes, Transpose::no, 1.0f, x, x, 1.0f, target.sketch.y);
    add_trace_and_count<In>(x, target.sketch.trace_count);
  } else {
    sketch_accumulate<In>(x, target.omega, target.sketch, workspace_);
  }
}

void SecondMoments::observe(int site, const Matrix<const float>& x) {
  observe_any<float>(site, x);
}
void SecondMoments::observe(int site, const Matrix<const bfloat16>& x) {
  observe_any<bfloat16>(site, x);
}

void SecondMoments::all_reduce(Communicator& communicator) {
  std::vector<Request> requests;
  for (Site& site : sites_) {
    if (site.width == 0) continue;
    Vector<float> flat(site.sketch.y.data(), site.sketch.y.size());
    requests.push_back(communicator.all_reduce_sum(flat, Traffic::metadata));
    requests.push_back(communicator.all_reduce_sum(site.sketch.trace_count, Traffic::metadata));
  }
  for (Request& request : requests)
    request.wait();
  communicator.synchronize();  // under the watchdog, before the host reads
}

bool SecondMoments::finite() const {
  for (const Site& site : sites_) {
    if (site.width == 0) continue;
    if (count_non_finite(Vector<const float>(site.sketch.y.data(), site.sketch.y.size())) > 0) return false;
  }
  return true;
}

void SecondMoments::reset() {
  for (Site& site : sites_) {
    if (site.width > 0) sketch_reset(site.sketch);
  }
}

void SecondMoments::reset_warm() {
  for (Site& site : sites_) {
    if (site.width > 0 && !dense_) site.omega = sketch_warm_test_matrix(site.sketch, site.omega);
  }
  reset();
}

Matrix<double> SecondMoments::dense_moment(int site) const {
  const Matrix<float> sum = at(site).sketch.y;
  const double scale = 1.0 / std::max<double>(1.0, static_cast<double>(tokens(site)));
  const std::int64_t d = extent(sum, 0);
  Matrix<double> moment("minigift::dense_moment", sum.extent(0), sum.extent(1));
  Kokkos::parallel_for(
      "minigift::dense_moment", range(d * d), KOKKOS_LAMBDA(std::int64_t i) {
        // The two triangles are rounded apart by the product; their mean is symmetric to the last bit.
        const std::int64_t row = i / d, column = i % d;
        moment(row, column) =
            0.5 * scale * (static_cast<double>(sum(row, column)) + static_cast<double>(sum(column, row)));
      });
  return moment;
}

std::int64_t SecondMoments::tokens(int site) const {
  const auto host = on_host(at(site).sketch.trace_count);
  return static_cast<std::int64_t>(host(1));
}

std::int64_t SecondMoments::bytes() const {
  std::int64_t bytes = 0;
  for (const Site& site : sites_) {
    bytes += 4 * static_cast<std::int64_t>(site.omega.size() + site.sketch.y.size());
  }
  return bytes;
}

}  // namespace minigift
