// The profile of a training and of its trace, against counts by brute force.

#include "miniapp/profile/profile_observer.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/format/fp8.hpp"
#include "kernels/format/scale.hpp"
#include "kernels/slice.hpp"
#include "miniapp/profile/trace_profile.hpp"
#include "miniapp/train/trace_recorder.hpp"
#include "tests/train/fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <unistd.h>

namespace minigift {
namespace {

using test::tiny_deck;
using test::TinyRun;

/// Shares of this rank's elements, code by code.
struct Shares {
  double upper = 0, flushed = 0, least = 0, subnormal = 0;
};

Shares shares_of(const HostMatrix<float>& w, float scale) {
  Shares shares;
  const double part = 1.0 / static_cast<double>(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float q = std::abs(decode_e4m3(encode_e4m3(w.data()[i] / scale)));
    if (q == 448.0f) shares.upper += part;
    if (w.data()[i] == 0.0f) continue;
    if (q == 0.0f) shares.flushed += part;
    if (q <= 0x1p-9f) shares.least += part;
    if (q < 0x1p-6f) shares.subnormal += part;
  }
  return shares;
}

/// Runs two observers one after the other.
class Both final : public StepObserver {
 public:
  Both(StepObserver& first, StepObserver& second) : first_(first), second_(second) {}
  bool begin_step(std::int64_t step) override {
    first_.begin_step(step);
    return second_.begin_step(step);
  }
  bool observes_inputs() const override { return true; }
  void observe_input(int site, const Matrix<const float>& x) override {
    if (first_.observes_inputs()) first_.observe_input(site, x);
    if (second_.observes_inputs()) second_.observe_input(site, x);
  }
  void gradient_ready(int parameter) override {
    first_.gradient_ready(parameter);
    second_.gradient_ready(parameter);
  }
  void end_step(const ObservedStep& step) override {
    first_.end_step(step);
    second_.end_step(step);
  }

 private:
  StepObserver& first_;
  StepObserver& second_;
};

TEST(Profile, TrainingAndTraceCountWhatBruteForceCounts) {
  Communicator communicator;
  const std::string path = std::filesystem::temp_directory_path() /
                           ("profile-" + communicator.broadcast_string(std::to_string(getpid()), 0) + ".h5");
  const Deck deck = tiny_deck({"trace.file=" + path, "trace.steps=1,2", "trace.tensors=mlp", "train.steps=2",
                               "trace.content=gradient,input-moment"});
  TinyRun run(deck, communicator);
  auto& model = run.trainer.model();
  const auto tensors = traced_tensors({"mlp"}, model.registry());
  TraceRecorder recorder(deck, "fp32", model.registry(), model.gradients(), communicator);
  ProfileObserver profiler(Format::e4m3, 1, tensors, model.registry(), model.gradients(), 1, communicator);
  Both both(recorder, profiler);
  run.trainer.observe(&both);
  run.trainer.step();
  run.trainer.step();
  recorder.finish();

  const TraceReader trace(path);
  const auto from_trace =
      profile_trace(trace, {0, 1, 2, 3, 4, 5}, Format::e4m3, [](double, const std::string&) {});
  ASSERT_EQ(profiler.profiles().size(), from_trace.size());
  const double samples = 2.0 * communicator.size();
  for (std::size_t t = 0; t < from_trace.size(); ++t) {
    Shares expected;
    for (std::size_t step = 0; step < 2; ++step) {
      float amax = 0;
      for (int r = 0; r < communicator.size(); ++r) {
        const auto w = trace.gradient(step, static_cast<int>(t), r);
        for (std::size_t i = 0; i < w.size(); ++i)
          amax = std::max(amax, std::abs(w.data()[i]));
      }
      for (int r = 0; r < communicator.size(); ++r) {
        const Shares shares =
            shares_of(trace.gradient(step, static_cast<int>(t), r), power_of_two_scale(amax, 1, 448));
        expected.upper += shares.upper / samples;
        expected.flushed += shares.flushed / samples;
        expected.least += shares.least / samples;
        expected.subnormal += shares.subnormal / samples;
      }
    }
    for (const LayerProfile* profile : {&profiler.profiles()[t], &from_trace[t]}) {
      EXPECT_EQ(profile->samples, 2 * communicator.size());
      EXPECT_NEAR(profile->upper_share(), expected.upper, 1e-12) << profile->tensor;
      EXPECT_NEAR(profile->lower_share(LowerBoundary::flushed), expected.flushed, 1e-12) << profile->tensor;
      EXPECT_NEAR(profile->lower_share(LowerBoundary::least_magnitude), expected.least, 1e-12)
          << profile->tensor;
      EXPECT_NEAR(profile->lower_share(LowerBoundary::subnormal), expected.subnormal, 1e-12)
          << profile->tensor;
      EXPECT_EQ(profile->measured, 2);
    }
    EXPECT_GT(from_trace[t].lower_share(LowerBoundary::subnormal), 0.0);
    // A sketch of 40 columns of the same inputs against their whole moment: the first has random directions,
    // which for exponent 1/4 costs up to 8 % (kernels/geometry/sketch.hpp).
    EXPECT_NEAR(profiler.profiles()[t].mean_gamma() / from_trace[t].mean_gamma(), 1.0, 0.08)
        << from_trace[t].tensor;
    EXPECT_NEAR(profiler.profiles()[t].measured_reduction(), from_trace[t].measured_reduction(), 0.08);
    EXPECT_GT(from_trace[t].measured_reduction(), 0.0) << from_trace[t].tensor;
  }
  communicator.barrier();
  if (communicator.rank() == 0) std::filesystem::remove(path);
}

}  // namespace
}  // namespace minigift
