#include "miniapp/step/timed_compute.hpp"

#include "kernels/device/memory.hpp"
#include "miniapp/report/region_timer.hpp"
#include "miniapp/report/wait.hpp"

#include <fmt/format.h>

#include <utility>

namespace minigift {

TimedCompute::TimedCompute(std::unique_ptr<GradientSource> source, const ComputeSeconds& seconds,
                           std::int64_t micro_batches, std::int64_t tokens)
    : source_(std::move(source)),
      seconds_(seconds),
      micro_batches_(micro_batches),
      tokens_(tokens),
      gradients_("minigift::gradients", static_cast<std::size_t>(source_->registry().flat_size())),
      done_(static_cast<std::size_t>(source_->registry().size()), 1.0) {
  const ParameterRegistry& tensors = registry();
  double all = 0, so_far = 0;
  const auto work = [&](int t) {
    return tensors[t].input_site >= 0 || is_hidden_matrix(tensors[t].role)
               ? static_cast<double>(tensors[t].size())
               : 0.0;
  };
  for (int t = 0; t < tensors.size(); ++t)
    all += work(t);
  for (int t = tensors.size() - 1; t >= 0; --t) {
    so_far += work(t);
    done_[static_cast<std::size_t>(t)] = all > 0 ? so_far / all : 1.0;
  }
}

void TimedCompute::prepare(std::int64_t iteration, const InputHook<float>& /*inputs*/) {
  iteration_ = iteration;
  source_->load(iteration, gradients_);
}

void TimedCompute::forward(std::int64_t /*micro_batch*/, const InputHook<float>& inputs) {
  if (inputs.full) {
    for (std::size_t site = 0; site < registry().input_sites().size(); ++site) {
      Matrix<const float> x;
      {
        const ScopedRegion region{std::string(untimed_region)};
        x = source_->input(iteration_, static_cast<int>(site));
      }
      inputs.full(static_cast<int>(site), x);
    }
  }
  if (seconds_.forward <= 0) return;
  const ScopedRegion region("forward");
  wait_for(seconds_.forward / static_cast<double>(micro_batches_));
}

void TimedCompute::backward(const GradientHook& ready) {
  using Clock = std::chrono::steady_clock;
  const auto length = std::chrono::duration<double>(seconds_.backward / static_cast<double>(micro_batches_));
  const ScopedRegion region("backward");
  auto waited =
      Clock::duration::zero();  // the exchange's own time in between delays what follows, as in a model
  for (int t = registry().size() - 1; t >= 0; --t) {
    const auto goal =
        std::chrono::duration_cast<Clock::duration>(done_[static_cast<std::size_t>(t)] * length);
    if (goal > waited) wait_until(Clock::now() + (goal - waited));
    waited = goal;
    if (ready) ready(t);
  }
}

void TimedCompute::update(double /*gradient_factor*/) {
  if (seconds_.optimizer <= 0) return;
  const ScopedRegion region("optimizer");
  wait_for(seconds_.optimizer);
}

std::string TimedCompute::description() const {
  if (seconds_.forward + seconds_.backward + seconds_.optimizer <= 0)
    return fmt::format("none; gradients: {}", source_->description());
  return fmt::format("waits of {:.4g} s (forward), {:.4g} s (backward), {:.4g} s (optimizer); gradients: {}",
                     seconds_.forward, seconds_.backward, seconds_.optimizer, source_->description());
}

}  // namespace minigift
