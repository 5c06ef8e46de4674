#include "miniapp/fidelity/layer_geometry.hpp"

namespace minigift {

MomentGeometry::MomentGeometry(const Matrix<const double>& a)
    : moment(a), spectrum(spectrum_of(a, EigenPrecision::fp32)) {}

const DenseWhitening& MomentGeometry::cholesky(const WhiteningOptions& options) const {
  const WhiteningOptions& kept = cholesky_options_;
  const bool same = kept.damping == options.damping && kept.absolute_damping == options.absolute_damping &&
                    kept.condition_cap == options.condition_cap && kept.exponent == options.exponent;
  if (!cholesky_ || !same) {
    cholesky_ = make_cholesky_whitening(moment, spectrum, options);
    cholesky_options_ = options;
  }
  return *cholesky_;
}

std::string missing_moment(const TransformSpecification& specification, const LayerGeometry& geometry) {
  const bool input = specification.side == Side::input || specification.side == Side::both;
  const bool output = specification.side == Side::output || specification.side == Side::both;
  if (output && geometry.output == nullptr) return "the trace has no output-moment";
  if (!input || geometry.input != nullptr) return "";
  if (specification.form != Form::low_rank) return "the trace has no input-moment";
  if (geometry.sketch == nullptr) return "the trace has neither input-moment nor sketch";
  if (specification.size > extent(geometry.sketch->test_matrix, 1))
    return "the sketch has fewer columns than the rank";
  return "";
}

}  // namespace minigift
