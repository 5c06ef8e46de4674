// Ten optimizer steps against an independent PyTorch implementation: loss and gradient norm of every step.

#include "kernels/format/philox.hpp"
#include "kernels/optim/adamw.hpp"
#include "kernels/optim/muon.hpp"
#include "kernels/slice.hpp"
#include "tests/model/golden.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace minigift {
namespace {

/// Optimizer state and update of every tensor, straight from kernels/optim: Muon for hidden matrices when
/// asked, AdamW for the rest.
template <class S>
class Optimizer {
 public:
  Optimizer(Llama<S>& model, bool muon) : model_(model), muon_(muon) {
    first_ = Vector<S>("first", model.parameters().extent(0));
    second_ = Vector<S>("second", model.parameters().extent(0));
  }

  void step(S learning_rate, S gradient_scale) {
    ++step_;
    for (int index = 0; index < model_.registry().size(); ++index) {
      const Parameter& p = model_.registry()[index];
      if (muon_ && is_hidden_matrix(p.role))
        muon_step<S>(model_.parameter(index), model_.gradient(index),
                     slice(first_, p.offset, p.rows, p.columns), learning_rate, gradient_scale,
                     muon_preset("moonlight"), workspace_);
      else
        adamw<S>(flatten(model_.parameter(index)), flatten(model_.gradient(index)),
                 slice(first_, p.offset, p.size()), slice(second_, p.offset, p.size()), learning_rate,
                 gradient_scale, AdamWOptions{}, step_);
    }
    model_.parameters_changed();
  }

 private:
  Llama<S>& model_;
  bool muon_;
  Vector<S> first_, second_;
  MuonWorkspace<S> workspace_;
  std::int64_t step_ = 0;
};

struct Curve {
  std::vector<double> loss, gradient_norm;
};

/// Adds Gaussian noise of `relative` times its norm to each tensor's gradient: what another rounding would
/// do.
template <class S>
void disturb_gradients(Llama<S>& model, double relative, std::uint64_t seed, std::uint64_t step) {
  for (int index = 0; index < model.registry().size(); ++index) {
    const Vector<S> gradient = flatten(model.gradient(index));
    const double size = norm(to_host(gradient));
    const S scale = static_cast<S>(relative * size / std::sqrt(static_cast<double>(gradient.extent(0))));
    const PhiloxKey key = philox_key(seed, step, static_cast<std::uint32_t>(index), 0);
    Kokkos::parallel_for(
        "minigift::test_disturb", Range(0, minigift::size(gradient)), KOKKOS_LAMBDA(const std::int64_t i) {
          gradient(i) += scale * static_cast<S>(philox_normal(key, i));
        });
  }
}

/// The ten steps, with gradients disturbed by `relative`.
template <class S>
Curve run_curve(const GoldenCase& golden, bool muon, double relative, std::uint64_t seed) {
  Llama<S> model(golden.shape, {.B = golden.B, .T = golden.T});
  set_hashed_weights(model);
  Optimizer<S> optimizer(model, muon);
  const Batch batch = golden.batch();
  Curve curve;
  for (std::int64_t step = 0; step < golden.steps; ++step) {
    model.zero_gradients();
    curve.loss.push_back(model.forward(batch.tokens, batch.targets, S(1)));
    model.backward();
    if (relative > 0) disturb_gradients(model, relative, seed, static_cast<std::uint64_t>(step));
    curve.gradient_norm.push_back(norm(to_host(model.gradients())));
    const double factor = std::min(1.0, golden.clip_norm / curve.gradient_norm.back());
    optimizer.step(static_cast<S>(golden.learning_rate), static_cast<S>(factor));
  }
  return curve;
}

/// How far gradients that err by as much as the golden gradients test allows (1e-5 of each tensor's norm in
/// FP32, 1e-12 in FP64) carry the curve: a step divides by quantities as small as the smallest gradients
/// (AdamW) or singular values (Muon), and the loss falls by a factor of up to 200, so the curve amplifies
/// roundings by an amount that no constant states. Measured on the FP64 model with random errors of that
/// size; largest of four samples.
Curve envelope(const GoldenCase& golden, const Curve& exact, bool muon, double relative) {
  Curve largest{std::vector<double>(exact.loss.size(), 0.0), std::vector<double>(exact.loss.size(), 0.0)};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Curve disturbed = run_curve<double>(golden, muon, relative, seed);
    for (std::size_t s = 0; s < exact.loss.size(); ++s) {
      largest.loss[s] = std::max(largest.loss[s], std::abs(disturbed.loss[s] - exact.loss[s]));
      largest.gradient_norm[s] =
          std::max(largest.gradient_norm[s], std::abs(disturbed.gradient_norm[s] - exact.gradient_norm[s]));
    }
  }
  return largest;
}

/// The bound of the golden gradients test.
template <class S>
constexpr double gradient_error = std::is_same_v<S, float> ? 1e-5 : 1e-12;

template <class S>
void check(const std::string& name, const std::string& optimizer_name) {
  const GoldenCase golden = read_golden(name);
  const GoldenCurve& stored = golden.curves.at(optimizer_name);
  const bool muon = optimizer_name == "muon";
  ASSERT_EQ(static_cast<std::int64_t>(stored.loss.size()), golden.steps);
  ASSERT_LT(stored.loss.back(), 0.5 * stored.loss.front()) << "the stored curve does not learn";
  const Curve exact = run_curve<double>(golden, muon, 0.0, 0);
  const Curve bound = envelope(golden, exact, muon, gradient_error<S>);
  const Curve curve = run_curve<S>(golden, muon, 0.0, 0);
  for (std::size_t step = 0; step < curve.loss.size(); ++step) {
    // Twice the largest sample, and the rounding of the loss and norm themselves (first step: nothing to
    // amplify).
    const double loss_bound = 2 * bound.loss[step] + gradient_error<S> * stored.loss[step];
    const double norm_bound = 2 * bound.gradient_norm[step] + gradient_error<S> * stored.gradient_norm[step];
    EXPECT_NEAR(curve.loss[step], stored.loss[step], loss_bound) << "step " << step;
    EXPECT_NEAR(curve.gradient_norm[step], stored.gradient_norm[step], norm_bound) << "step " << step;
    // The envelope must stay a bound worth having: a tenth of what the step has still to lose.
    EXPECT_LT(loss_bound, 0.1 * stored.loss[step]) << "step " << step;
  }
}

TEST(GoldenCurve, AdamWInDouble) {
  check<double>("mha", "adamw");
}
TEST(GoldenCurve, AdamWInSingle) {
  check<float>("mha", "adamw");
}
TEST(GoldenCurve, MuonInDouble) {
  check<double>("mha", "muon");
}
TEST(GoldenCurve, MuonInSingle) {
  check<float>("mha", "muon");
}
TEST(GoldenCurve, AdamWInDoubleGroupedQueries) {
  check<double>("gqa", "adamw");
}
TEST(GoldenCurve, MuonInDoubleGroupedQueries) {
  check<double>("gqa", "muon");
}
TEST(GoldenCurve, AdamWInSingleGroupedQueries) {
  check<float>("gqa", "adamw");
}
TEST(GoldenCurve, MuonInSingleGroupedQueries) {
  check<float>("gqa", "muon");
}

}  // namespace
}  // namespace minigift
