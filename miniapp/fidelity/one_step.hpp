#pragma once
// The one-step round trip of GIFT, section V-A (arXiv:2607.07494): into coordinates, cast, back, and compared
// with the gradient that went in.

#include "kernels/geometry/gamma.hpp"
#include "kernels/linalg/comparison.hpp"
#include "kernels/optim/newton_schulz.hpp"
#include "miniapp/fidelity/layer_transform.hpp"
#include "miniapp/fidelity/round_trip.hpp"

#include <limits>
#include <string>
#include <vector>

namespace minigift {

/// Which layer of which step a figure is about.
struct LayerLabel {
  std::int64_t step = 0;
  std::string tensor, role;
  std::int64_t layer = -1;
};

struct OneStepRow {
  LayerLabel label;
  std::string transform, format;
  ComparisonSums sums;  ///< reconstruction against gradient
  GammaTerms gamma;     ///< the closed form's; NaN where there is none
  /// ||msign(w') - msign(w)||_F / sqrt(min(m, d)), msign by the optimizer's Newton-Schulz iteration. NaN: not
  /// asked for.
  double muon_error = std::numeric_limits<double>::quiet_NaN();
  bool identity = false;  ///< a zero moment left Euclidean coordinates
};

/// gamma, or NaN where the terms are NaN: no closed form.
double gamma_or_nan(const GammaTerms& terms);

struct OneStepOptions {
  std::vector<TransformSpecification> transforms;
  std::vector<RoundTripFormat> formats;
  std::vector<std::string> muon_formats = {};  ///< names of formats for which the update's error is measured
};

class OneStepStudy {
 public:
  explicit OneStepStudy(OneStepOptions options) : options_(std::move(options)) {}

  const OneStepOptions& options() const { return options_; }
  /// All transforms and formats of one gradient w (m, d). Transforms whose moments are missing are left out.
  /// Per transform 4 m d^2 flop and less; 4 p^2 q + 2 p^3 more per step of Newton-Schulz, p = min(m, d), q =
  /// max(m, d).
  std::vector<OneStepRow> run(const LayerLabel& label, const Matrix<const float>& w,
                              const LayerGeometry& geometry);

 private:
  /// msign(b), overwriting b.
  void orthogonalise(const Matrix<float>& b);

  OneStepOptions options_;
  TransformWorkspace workspace_;
  RoundTrip round_trip_;
  Vector<float> u_, back_, sign_;
  NewtonSchulzWorkspace<float> newton_schulz_;
};

/// Rows of one transform and format together: errors and energies add, the largest error is the largest.
struct OneStepSummary {
  std::string transform, format;
  ComparisonSums sums = {};
  GammaTerms gamma = {};
  double muon_error = 0;  ///< mean over tensors; NaN: not measured
  int tensors = 0, identities = 0;
};

/// Over all rows that `wanted` accepts, in the order in which (transform, format) first appear.
template <class Wanted>
std::vector<OneStepSummary> summarise(const std::vector<OneStepRow>& rows, const Wanted& wanted);
std::vector<OneStepSummary> summarise(const std::vector<OneStepRow>& rows);
/// The summary of a transform and format, or null.
const OneStepSummary* find(const std::vector<OneStepSummary>& summaries, const std::string& transform,
                           const std::string& format);

void add_to_summaries(std::vector<OneStepSummary>& summaries, const OneStepRow& row);

template <class Wanted>
std::vector<OneStepSummary> summarise(const std::vector<OneStepRow>& rows, const Wanted& wanted) {
  std::vector<OneStepSummary> summaries;
  for (const OneStepRow& row : rows) {
    if (wanted(row)) add_to_summaries(summaries, row);
  }
  for (OneStepSummary& summary : summaries)
    summary.muon_error /= summary.tensors;
  return summaries;
}

}  // namespace minigift
