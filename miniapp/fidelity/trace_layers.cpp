#include "miniapp/fidelity/trace_layers.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/slice.hpp"

#include <numeric>

namespace minigift {
namespace {

/// sum += factor * part.
void add(const HostMatrix<double>& sum, const HostMatrix<float>& part, double factor) {
  require(sum.extent(0) == part.extent(0) && sum.extent(1) == part.extent(1),
          "a {} x {} matrix was expected, {} x {} found", sum.extent(0), sum.extent(1), part.extent(0),
          part.extent(1));
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum.data()[i] += factor * static_cast<double>(part.data()[i]);
}

Matrix<double> on_device(const HostMatrix<double>& host) {
  const Matrix<double> result(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::trace_matrix"),
                              host.extent(0), host.extent(1));
  copy(result, host);
  return result;
}

Matrix<float> on_device(const HostMatrix<float>& host) {
  const Matrix<float> result(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::trace_matrix"),
                             host.extent(0), host.extent(1));
  copy(result, host);
  return result;
}

/// Mean over tokens of all ranks of per-rank means: sum_r n_r A_r / sum_r n_r. `read(rank)` gives A_r,
/// `tokens(rank)` n_r.
template <class Read, class Tokens>
Matrix<double> pooled_moment(std::int64_t d, const std::vector<int>& ranks, const Read& read,
                             const Tokens& tokens) {
  const HostMatrix<double> sum("minigift::pooled_moment", static_cast<std::size_t>(d),
                               static_cast<std::size_t>(d));
  double total = 0;
  for (const int rank : ranks)
    total += tokens(rank);
  require(total > 0, "the moments of this trace are of no token at all");
  for (const int rank : ranks)
    add(sum, read(rank), tokens(rank) / total);
  return on_device(sum);
}

}  // namespace

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Matrix<double> mean_gradient(const TraceReader& trace, std::size_t step, int tensor,
                             const std::vector<int>& ranks) {
  const TraceTensor& t = trace.header().tensors[static_cast<std::size_t>(tensor)];
  const HostMatrix<double> sum("minigift::mean_gradient", static_cast<std::size_t>(t.rows),
                               static_cast<std::size_t>(t.columns));
  for (const int rank : ranks)
    add(sum, trace.gradient(step, tensor, rank), 1.0 / static_cast<double>(ranks.size()));
  return on_device(sum);
}

Matrix<float> rounded(const Matrix<const double>& matrix) {
  const Matrix<float> result(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::rounded"),
                             matrix.extent(0), matrix.extent(1));
  const Vector<const double> from = flatten(matrix);
  const Vector<float> to = flatten(result);
  Kokkos::parallel_for(
      "minigift::rounded", range(size(to)),
      KOKKOS_LAMBDA(const std::int64_t i) { to(i) = static_cast<float>(from(i)); });
  return result;
}

Matrix<float> local_gradient(const TraceReader& trace, std::size_t step, int tensor, int rank) {
  return on_device(trace.gradient(step, tensor, rank));
}

StepGeometry::StepGeometry(const TraceReader& trace, std::size_t step, std::vector<int> ranks)
    : trace_(trace), step_(step), ranks_(std::move(ranks)) {}

LayerGeometry StepGeometry::layer(int tensor, bool needs_output) {
  const TraceTensor& t = trace_.header().tensors[static_cast<std::size_t>(tensor)];
  load_input(trace_.find_site(t.input_site));
  LayerGeometry geometry;
  geometry.input = input_;
  geometry.sketch = sketch_;
  if (needs_output && trace_.header().content.output_moment) geometry.output = output(tensor);
  geometry.tokens = static_cast<double>(trace_.steps()[step_].tokens_per_rank) *
                    static_cast<double>(trace_.header().world_size);
  return geometry;
}

void StepGeometry::load_input(int site) {
  if (site == site_) return;
  const TraceContent& content = trace_.header().content;
  const TraceSite& description = trace_.header().sites[static_cast<std::size_t>(site)];
  input_ = nullptr;
  sketch_ = nullptr;
  if (content.input_moment) {
    input_ = std::make_shared<MomentGeometry>(pooled_moment(
        description.width, ranks_, [&](int rank) { return trace_.input_moment(step_, site, rank); },
        [&](int rank) { return trace_.input_tokens(step_, site, rank); }));
  } else if (content.sketch) {
    auto geometry = std::make_shared<SketchGeometry>();
    HostMatrix<double> sum;
    double trace_sum = 0, tokens = 0;
    for (const int rank : ranks_) {
      const TraceSketch part = trace_.sketch(step_, site, rank);
      if (sum.size() == 0) {
        sum = HostMatrix<double>("minigift::sketch_sum", part.y.extent(0), part.y.extent(1));
        geometry->test_matrix = on_device(part.test_matrix);
      }
      add(sum, part.y, 1.0);
      trace_sum += part.trace_sum;
      tokens += part.tokens;
    }
    geometry->sketch =
        make_sketch(static_cast<std::int64_t>(sum.extent(0)), static_cast<std::int64_t>(sum.extent(1)));
    copy(geometry->sketch.y, rounded(on_device(sum)));
    const HostVector<double> trace_count("minigift::trace_count", 2);
    trace_count(0) = trace_sum;
    trace_count(1) = tokens;
    copy(geometry->sketch.trace_count, trace_count);
    sketch_ = std::move(geometry);
  }
  site_ = site;
}

std::shared_ptr<const MomentGeometry> StepGeometry::output(int tensor) const {
  const TraceTensor& t = trace_.header().tensors[static_cast<std::size_t>(tensor)];
  return std::make_shared<MomentGeometry>(pooled_moment(
      t.rows, ranks_, [&](int rank) { return trace_.output_moment(step_, tensor, rank); },
      [&](int rank) { return trace_.output_tokens(step_, tensor, rank); }));
}

}  // namespace minigift
