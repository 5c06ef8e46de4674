#include "miniapp/fidelity/one_step.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/linalg/workspace.hpp"
#include "kernels/slice.hpp"

#include <algorithm>
#include <cmath>

namespace minigift {

void OneStepStudy::orthogonalise(const Matrix<float>& b) {
  newton_schulz<float>(b, simple_coefficients(), 1e-7f, newton_schulz_);
}

std::vector<OneStepRow> OneStepStudy::run(const LayerLabel& label, const Matrix<const float>& w,
                                          const LayerGeometry& geometry) {
  const std::int64_t m = extent(w, 0), d = extent(w, 1);
  reserve(u_, m * d);
  reserve(back_, m * d);
  const Matrix<float> u = slice(u_, 0, m, d), back = slice(back_, 0, m, d);
  const Vector<const float> exact = flatten(w);
  const TransformInput input(w, geometry, workspace_);
  Matrix<float> sign;
  if (!options_.muon_formats.empty()) {
    reserve(sign_, m * d);
    sign = slice(sign_, 0, m, d);
    copy(sign, w);
    orthogonalise(sign);
  }

  std::vector<OneStepRow> rows;
  for (const TransformSpecification& specification : options_.transforms) {
    if (!missing_moment(specification, geometry).empty()) continue;
    const LayerTransform transform(specification, geometry);
    transform.forward(input, u, workspace_);
    const GammaTerms gamma = transform.gamma_terms(input, u, workspace_);
    for (const RoundTripFormat& format : options_.formats) {
      round_trip_.apply(format, u, back);
      transform.inverse(back, workspace_);
      OneStepRow row{.label = label,
                     .transform = specification.name,
                     .format = format.name,
                     .sums = compare<float>(flatten(back), exact),
                     .gamma = gamma,
                     .identity = specification.side != Side::none && transform.is_identity()};
      const auto& muon = options_.muon_formats;
      if (std::find(muon.begin(), muon.end(), format.name) != muon.end()) {
        orthogonalise(back);
        row.muon_error =
            std::sqrt(compare<float>(flatten(back), flatten(Matrix<const float>(sign))).difference /
                      static_cast<double>(std::min(m, d)));
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

double gamma_or_nan(const GammaTerms& terms) {
  return std::isnan(terms.norm_squared) ? terms.norm_squared : gamma(terms);
}

void add_to_summaries(std::vector<OneStepSummary>& summaries, const OneStepRow& row) {
  auto at = std::find_if(summaries.begin(), summaries.end(), [&](const OneStepSummary& summary) {
    return summary.transform == row.transform && summary.format == row.format;
  });
  if (at == summaries.end()) {
    summaries.push_back({.transform = row.transform, .format = row.format});
    at = summaries.end() - 1;
  }
  at->sums += row.sums;
  at->gamma.numerator += row.gamma.numerator;
  at->gamma.norm_squared += row.gamma.norm_squared;
  at->muon_error += row.muon_error;
  at->tensors += 1;
  at->identities += row.identity ? 1 : 0;
}

std::vector<OneStepSummary> summarise(const std::vector<OneStepRow>& rows) {
  return summarise(rows, [](const OneStepRow&) { return true; });
}

const OneStepSummary* find(const std::vector<OneStepSummary>& summaries, const std::string& transform,
                           const std::string& format) {
  for (const OneStepSummary& summary : summaries) {
    if (summary.transform == transform && summary.format == format) return &summary;
  }
  return nullptr;
}

}  // namespace minigift
