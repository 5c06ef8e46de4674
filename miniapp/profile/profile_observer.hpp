#pragma once
// Profiles the gradients of a running training (GIFT, section V-C).

#include "miniapp/exchange/second_moments.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/profile/gradient_profiler.hpp"
#include "miniapp/train/step_observer.hpp"
#include "miniapp/transport/communicator.hpp"

#include <vector>

namespace minigift {

class ProfileObserver final : public StepObserver {
 public:
  /// Counts boundaries in every step; in every `measure_every`-th, from step 1, the gain is measured, with a
  /// sketch of that step's inputs. `tensors` are parameters of the registry. Holds a copy of their gradients.
  /// The registry and the gradients must outlive the observer.
  ProfileObserver(Format format, std::int64_t measure_every, const std::vector<int>& tensors,
                  const ParameterRegistry& registry, const Vector<float>& gradients, std::uint64_t seed,
                  Communicator& communicator);

  bool begin_step(std::int64_t step) override;
  bool observes_inputs() const override { return measuring_; }
  void observe_input(int site, const Matrix<const float>& x) override { sketches_.observe(site, x); }
  void observe_input(int site, const Matrix<const bfloat16>& x) override { sketches_.observe(site, x); }
  void gradient_ready(int parameter) override;
  void end_step(const ObservedStep& step) override;

  /// Means over the steps so far, the same on all ranks.
  const std::vector<LayerProfile>& profiles() const { return profiles_; }

 private:
  Vector<float> local(std::size_t tensor) const;
  void count_boundaries();
  void measure_gain();

  GradientProfiler profiler_;
  std::int64_t measure_every_;
  std::vector<int> tensors_, tensor_index_;
  const ParameterRegistry& registry_;
  Vector<float> gradients_;
  Communicator& communicator_;
  SecondMoments sketches_;
  std::vector<std::int64_t> offsets_;  // of each tensor in copies_
  Vector<float> copies_;
  bool measuring_ = false;
  std::vector<LayerProfile> profiles_;
};

}  // namespace minigift
