// Ten optimizer steps against an independent PyTorch implementation: loss and gradient norm of every step.

#include "kernels/optim/adamw.hpp"
#include "kernels/optim/muon.hpp"
#include "kernels/slice.hpp"
#include "tests/model/golden.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

// Bounds on the relative error of a step's loss and gradient norm. A step divides by quantities as small as
// the smallest gradients (AdamW) or singular values (Muon), and the loss falls by a factor 4 to 200 in ten
// steps, so a difference of one rounding at the start grows about a thousandfold. Observed: 4e-13 in double,
// 1.2e-4 in single.
template <class S>
constexpr double bound = 1e-11;
template <>
constexpr double bound<float> = 5e-4;

template <class S>
void check(const std::string& name, const std::string& optimizer_name) {
  const GoldenCase golden = read_golden(name);
  const GoldenCurve& curve = golden.curves.at(optimizer_name);
  ASSERT_EQ(static_cast<std::int64_t>(curve.loss.size()), golden.steps);
  ASSERT_LT(curve.loss.back(), 0.5 * curve.loss.front()) << "the stored curve does not learn";
  Llama<S> model(golden.shape, {.B = golden.B, .T = golden.T});
  set_hashed_weights(model);
  Optimizer<S> optimizer(model, optimizer_name == "muon");
  const Batch batch = golden.batch();
  for (std::size_t step = 0; step < curve.loss.size(); ++step) {
    model.zero_gradients();
    const double loss = model.forward(batch.tokens, batch.targets, S(1));
    model.backward();
    const double gradient_norm = norm(to_host(model.gradients()));
    EXPECT_NEAR(loss, curve.loss[step], bound<S> * curve.loss[step]) << "step " << step;
    EXPECT_NEAR(gradient_norm, curve.gradient_norm[step], bound<S> * curve.gradient_norm[step])
        << "step " << step;
    const double factor = std::min(1.0, golden.clip_norm / gradient_norm);
    optimizer.step(static_cast<S>(golden.learning_rate), static_cast<S>(factor));
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
