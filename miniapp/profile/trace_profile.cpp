#include "miniapp/profile/trace_profile.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/slice.hpp"
#include "miniapp/fidelity/trace_layers.hpp"
#include "miniapp/profile/gradient_profiler.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace minigift {

std::vector<LayerProfile> profile_trace(const TraceReader& trace, const std::vector<int>& tensors,
                                        Format format,
                                        const std::function<void(double, const std::string&)>& progress) {
  const TraceHeader& header = trace.header();
  require_usage(header.content.gradient,
                "the trace has no gradients; record with trace.content = [\"gradient\", ...]");
  GradientProfiler profiler(format);
  const std::vector<int> ranks = first_ranks(header.ranks);
  std::vector<LayerProfile> profiles;
  for (const int tensor : tensors) {
    const TraceTensor& t = header.tensors[static_cast<std::size_t>(tensor)];
    profiles.push_back({.tensor = t.name, .role = t.role, .layer = t.layer, .size = t.rows * t.columns});
  }
  const double total = static_cast<double>(trace.steps().size() * tensors.size());
  double done = 0;
  for (std::size_t step = 0; step < trace.steps().size(); ++step) {
    StepGeometry geometry(trace, step, ranks);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      progress(done / total, fmt::format("step {} {}", trace.steps()[step].step, profiles[i].tensor));
      double amax = 0;
      for (const int rank : ranks)
        amax = std::max(amax, trace.amax(step, tensors[i], rank));
      const float scale = profiler.scale(static_cast<float>(amax));
      for (const int rank : ranks)
        profiler.count(profiles[i], flatten(local_gradient(trace, step, tensors[i], rank)), scale);
      const Matrix<float> mean = rounded(mean_gradient(trace, step, tensors[i], ranks));
      profiler.measure(profiles[i], mean, geometry.layer(tensors[i], false));
      done += 1;
    }
  }
  return profiles;
}

}  // namespace minigift
