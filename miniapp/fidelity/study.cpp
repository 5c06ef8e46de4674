#include "miniapp/fidelity/study.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/slice.hpp"
#include "miniapp/fidelity/trace_layers.hpp"
#include "miniapp/model/parameter_registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace minigift {
namespace {

/// Transforms whose factors' age is studied.
const std::vector<std::string> aging_transforms = {"input-full", "input-lowrank-32",
                                                   "input-lowrank-32 p=1/4 tail", "input-full p=1/4"};
/// Transforms whose sums are studied: none, the paper's, this program's default.
const std::vector<std::string> summed_transforms = {"euclidean", "input-lowrank-32",
                                                    "input-lowrank-32 p=1/4 tail"};

std::vector<TransformSpecification> specifications(const std::vector<std::string>& names) {
  std::vector<TransformSpecification> list;
  for (const std::string& name : names)
    list.push_back(find_transform(name));
  return list;
}

std::vector<RoundTripFormat> formats(const std::vector<std::string>& names) {
  std::vector<RoundTripFormat> list;
  for (const std::string& name : names)
    list.push_back(round_trip_format(name));
  return list;
}

class Study {
 public:
  Study(const TraceReader& trace, const StudyOptions& options, const StudyProgress& progress)
      : trace_(trace),
        options_(options),
        progress_(progress),
        one_step_({.transforms = transform_catalog(),
                   .formats = formats(options.formats),
                   .muon_formats = options.muon ? std::vector<std::string>{options.formats.front()}
                                                : std::vector<std::string>{}}),
        aging_(
            {.transforms = specifications(aging_transforms), .formats = formats({options.formats.front()})}),
        sums_({.transforms = specifications(summed_transforms),
               .formats = {Format::fp32, Format::bf16, Format::e5m2, Format::e4m3}}),
        everyone_(first_ranks(trace.header().ranks)) {}

  StudyResult run(const std::vector<std::size_t>& steps, const std::vector<int>& tensors) {
    const double total = static_cast<double>(steps.size() * tensors.size());
    double done = 0;
    for (const std::size_t step : steps) {
      StepGeometry geometry(trace_, step, everyone_);
      for (const int tensor : tensors) {
        const LayerLabel label = label_of(step, tensor);
        progress_(done / total, fmt::format("step {} {}", label.step, label.tensor));
        const LayerGeometry layer = geometry.layer(tensor, true);
        if (options_.tables) tables(label, step, tensor, layer);
        if (options_.sums) sums(label, step, tensor, layer);
        done += 1;
      }
    }
    if (options_.age) ages(steps, tensors);
    progress_(1.0, "done");
    return std::move(result_);
  }

 private:
  LayerLabel label_of(std::size_t step, int tensor) const {
    const TraceTensor& t = trace_.header().tensors[static_cast<std::size_t>(tensor)];
    return {trace_.steps()[step].step, t.name, t.role, t.layer};
  }

  void tables(const LayerLabel& label, std::size_t step, int tensor, const LayerGeometry& layer) {
    for (const TransformSpecification& specification : one_step_.options().transforms) {
      const std::string why = missing_moment(specification, layer);
      if (!why.empty()) leave_out(specification.name + ": " + why);
    }
    const Matrix<float> w = rounded(mean_gradient(trace_, step, tensor, everyone_));
    append(result_.one_step, one_step_.run(label, w, layer));
  }

  void sums(const LayerLabel& label, std::size_t step, int tensor, const LayerGeometry& layer) {
    const TraceTensor& t = trace_.header().tensors[static_cast<std::size_t>(tensor)];
    const std::int64_t recorded = trace_.header().ranks;
    if (recorded < 2) return leave_out("summed gradients: the trace has one rank");
    const Matrix<float> all("minigift::rank_gradients", static_cast<std::size_t>(recorded),
                            static_cast<std::size_t>(t.rows * t.columns));
    for (int r = 0; r < recorded; ++r)
      copy(flatten(row_slice(all, r, 1)), flatten(local_gradient(trace_, step, tensor, r)));
    for (const std::int64_t ranks : sum_ranks()) {
      const bool drawn = ranks > recorded;
      const Matrix<float> gradients =
          drawn ? resampled_gradients(all, ranks, options_.seed + static_cast<std::uint64_t>(tensor))
                : row_slice(all, 0, ranks);
      append(result_.sums, sums_.run(label, gradients, t.rows, t.columns, drawn, layer));
    }
  }

  std::vector<std::int64_t> sum_ranks() const {
    if (!options_.sum_ranks.empty()) return options_.sum_ranks;
    const std::int64_t recorded = trace_.header().ranks;
    std::vector<std::int64_t> list;
    for (std::int64_t n = 2; n < recorded; n *= 2)
      list.push_back(n);
    list.push_back(recorded);
    return list;
  }

  /// Factors of the same tokens, of other tokens of the step, and of earlier steps.
  void ages(const std::vector<std::size_t>& steps, const std::vector<int>& tensors) {
    const int half = trace_.header().ranks / 2;
    const std::vector<int> first(everyone_.begin(), everyone_.begin() + half);
    const std::vector<int> second(everyone_.begin() + half, everyone_.end());
    if (half == 0) leave_out("factors of other tokens: the trace has one rank");
    for (std::size_t s = 0; s < steps.size(); ++s) {
      for (std::size_t f = 0; f <= s; ++f) {
        progress_(1.0, fmt::format("factors of step {} for step {}", trace_.steps()[steps[f]].step,
                                   trace_.steps()[steps[s]].step));
        age(steps[s], steps[f], tensors, everyone_, everyone_, "all");
        if (f != s || half == 0) continue;
        age(steps[s], steps[s], tensors, first, first, "same");
        age(steps[s], steps[s], tensors, first, second, "other");
      }
    }
  }

  void age(std::size_t step, std::size_t factor_step, const std::vector<int>& tensors,
           const std::vector<int>& gradient_ranks, const std::vector<int>& factor_ranks,
           const std::string& tokens) {
    StepGeometry geometry(trace_, factor_step, factor_ranks);
    for (const int tensor : tensors) {
      const Matrix<float> w = rounded(mean_gradient(trace_, step, tensor, gradient_ranks));
      const LayerGeometry layer = geometry.layer(tensor, false);
      for (OneStepRow& row : aging_.run(label_of(step, tensor), w, layer))
        result_.age.push_back({std::move(row), trace_.steps()[factor_step].step, tokens});
    }
  }

  template <class Row>
  static void append(std::vector<Row>& rows, std::vector<Row>&& more) {
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }

  void leave_out(const std::string& what) {
    auto& list = result_.left_out;
    if (std::find(list.begin(), list.end(), what) == list.end()) list.push_back(what);
  }

  const TraceReader& trace_;
  const StudyOptions& options_;
  const StudyProgress& progress_;
  OneStepStudy one_step_, aging_;
  SummedGradientStudy sums_;
  std::vector<int> everyone_;
  StudyResult result_;
};

}  // namespace

namespace {

bool chooses(const std::string& word, const TraceTensor& tensor) {
  if (word == "all") return true;
  if (word == "mlp" || word == "attention") return tensor.role.rfind(word + "_", 0) == 0;
  return word == tensor.role || glob_match(word, tensor.name);
}

}  // namespace

std::vector<int> chosen_tensors(const TraceReader& trace, const std::vector<std::string>& patterns) {
  std::set<int> chosen;
  const auto& tensors = trace.header().tensors;
  for (const std::string& pattern : patterns.empty() ? std::vector<std::string>{"all"} : patterns) {
    bool any = false;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (!chooses(pattern, tensors[t])) continue;
      chosen.insert(static_cast<int>(t));
      any = true;
    }
    require_usage(any, "--tensors {}: no traced tensor or role matches; `minigift trace info` lists them",
                  pattern);
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::size_t> chosen_steps(const TraceReader& trace, const std::vector<std::int64_t>& steps) {
  std::vector<std::size_t> chosen;
  const auto& traced = trace.steps();
  for (std::size_t s = 0; s < traced.size(); ++s) {
    if (steps.empty() || std::find(steps.begin(), steps.end(), traced[s].step) != steps.end())
      chosen.push_back(s);
  }
  for (const std::int64_t step : steps) {
    require_usage(
        std::any_of(traced.begin(), traced.end(), [&](const TraceStep& t) { return t.step == step; }),
        "--steps {}: the trace does not have this step; `minigift trace info` lists them", step);
  }
  return chosen;
}

StudyResult run_study(const TraceReader& trace, const StudyOptions& options, int part, int parts,
                      const StudyProgress& progress) {
  require_usage(trace.header().content.gradient,
                "the trace has no gradients; record with trace.content = [\"gradient\", ...]");
  std::vector<int> mine;
  for (const int tensor : chosen_tensors(trace, options.tensors)) {
    const TraceTensor& t = trace.header().tensors[static_cast<std::size_t>(tensor)];
    if (trace.find_site(t.input_site) % parts == part) mine.push_back(tensor);
  }
  return Study(trace, options, progress).run(chosen_steps(trace, options.steps), mine);
}

}  // namespace minigift
