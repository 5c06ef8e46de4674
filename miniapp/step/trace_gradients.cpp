#include "miniapp/step/trace_gradients.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/slice.hpp"

#include <fmt/format.h>

#include <cmath>

namespace minigift {
namespace {

ParameterRegistry traced_registry(const TraceReader& trace) {
  const TraceHeader& header = trace.header();
  require_usage(header.content.gradient && !header.tensors.empty() && !trace.steps().empty(),
                "{}: the trace holds no gradients; record some with trace.content = [\"gradient\"]",
                trace.path());
  std::vector<ListedMatrix> matrices;
  for (const TraceTensor& tensor : header.tensors) {
    matrices.push_back({tensor.name, role_from_name(tensor.role), tensor.layer, tensor.rows, tensor.columns,
                        tensor.input_site});
  }
  return ParameterRegistry(matrices);
}

/// x (d, d) = sqrt(d) L^T for a = L L^T, lifted by a millionth of its mean eigenvalue: a recorded moment of
/// fewer tokens than features is singular.
Matrix<float> rows_with_moment(const HostMatrix<float>& a) {
  const std::int64_t d = extent(a, 0);
  const Matrix<double> factor("minigift::trace_factor", a.extent(0), a.extent(1));
  const auto host = host_like(factor);
  double trace = 0;
  for (std::int64_t i = 0; i < d; ++i)
    trace += static_cast<double>(a(i, i));
  for (std::int64_t i = 0; i < d; ++i) {
    for (std::int64_t j = 0; j < d; ++j)
      host(i, j) = 0.5 * (static_cast<double>(a(i, j)) + static_cast<double>(a(j, i)));
    host(i, i) += 1e-6 * trace / static_cast<double>(d);
  }
  copy(factor, host);
  cholesky_lower(factor);
  const Matrix<float> rows("minigift::trace_rows", a.extent(0), a.extent(1));
  const double root = std::sqrt(static_cast<double>(d));
  Kokkos::parallel_for(
      "minigift::trace_rows", range(d * d), KOKKOS_LAMBDA(std::int64_t i) {
        rows(i / d, i % d) = static_cast<float>(root * factor(i % d, i / d));
      });
  return rows;
}

}  // namespace

TraceGradients::TraceGradients(const std::string& path, int rank)
    : trace_(path), recorded_rank_(rank % trace_.header().ranks), registry_(traced_registry(trace_)) {}

void TraceGradients::load(std::int64_t iteration, const Vector<float>& gradients) {
  fill(gradients, 0.0f);
  for (int t = 0; t < registry_.size(); ++t) {
    const HostMatrix<float> values = trace_.gradient(step_of(iteration), t, recorded_rank_);
    const Parameter& p = registry_[t];
    copy(slice(gradients, p.offset, p.size()), HostVector<float>(values.data(), values.size()));
  }
}

Matrix<const float> TraceGradients::input(std::int64_t iteration, int site) {
  const std::string& name = registry_.input_sites()[static_cast<std::size_t>(site)].name;
  require_usage(
      trace_.header().content.input_moment,
      "{}: the trace has no second moments of inputs ({}), which the coordinates of this method need; "
      "record them with trace.content = [\"gradient\", \"input-moment\"]",
      trace_.path(), name);
  return rows_with_moment(trace_.input_moment(step_of(iteration), trace_.find_site(name), recorded_rank_));
}

std::string TraceGradients::description() const {
  return fmt::format("trace {}: {} tensors of {}, {} step{}, {} recorded rank{}", trace_.path(),
                     registry_.size(), trace_.header().model, trace_.steps().size(),
                     trace_.steps().size() == 1 ? "" : "s", trace_.header().ranks,
                     trace_.header().ranks == 1 ? "" : "s");
}

std::string TraceGradients::identity() const {
  return fmt::format("trace of {}, {} tensors, {} parameters", trace_.header().model, registry_.size(),
                     registry_.total());
}

}  // namespace minigift
