#include "miniapp/fidelity/layer_transform.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/format/hadamard.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"
#include "kernels/slice.hpp"

#include <limits>

namespace minigift {
namespace {

/// The same for every layer and rank: whoever receives must know it.
Hadamard rotation(std::int64_t d) {
  constexpr std::uint64_t seed = 1;
  return make_hadamard(d, seed);
}

bool has(const LowRankWhitening& whitening) {
  return !whitening.is_identity;
}

}  // namespace

TransformInput::TransformInput(const Matrix<const float>& w, const LayerGeometry& geometry,
                               TransformWorkspace& workspace)
    : w_(w), geometry_(geometry), workspace_(workspace), norm_squared_(sum_of_squares<float>(flatten(w))) {}

const Matrix<const float>& TransformInput::projected() const {
  if (projected_.size() == 0) {
    reserve(workspace_.projection, size(w_));
    const Matrix<float> projected = slice(workspace_.projection, 0, extent(w_, 0), extent(w_, 1));
    project_input(w_, geometry_.input->spectrum.vectors, projected);
    projected_ = projected;
  }
  return projected_;
}

LayerTransform::LayerTransform(const TransformSpecification& specification, const LayerGeometry& geometry)
    : specification_(specification) {
  const bool symmetric = specification.root == Root::symmetric;
  if (specification.side == Side::output || specification.side == Side::both) {
    WhiteningOptions options = specification.options;
    if (options.absolute_damping) options.damping *= geometry.tokens * geometry.tokens;
    const MomentGeometry& output = *geometry.output;
    if (symmetric) {
      output_ = make_spectral_whitening(output.spectrum, options);
    } else {
      dense_output_ = output.cholesky(options);
    }
  }
  if (specification.side == Side::none || specification.side == Side::output) return;
  const WhiteningOptions& options = specification.options;
  if (specification.form == Form::low_rank) {
    const LowRankFactor factor =
        geometry.input != nullptr
            ? exact_factor(geometry.input->spectrum, specification.size)
            : nystrom_factor(geometry.sketch->sketch, geometry.sketch->test_matrix, specification.size);
    low_rank_ = make_low_rank_whitening(factor, options);
    return;
  }
  const MomentGeometry& input = *geometry.input;
  switch (specification.form) {
    case Form::diagonal:
      dense_input_ = make_diagonal_whitening(input.moment, options);
      break;
    case Form::block:
      dense_input_ = make_block_whitening(input.moment, specification.size, options, specification.root);
      break;
    default:
      if (symmetric) {
        input_ = make_spectral_whitening(input.spectrum, options);
      } else {
        dense_input_ = input.cholesky(options);
      }
  }
}

void LayerTransform::forward(const TransformInput& input, const Matrix<float>& u,
                             TransformWorkspace& workspace) const {
  if (!input_.is_identity) {
    apply_to_projection(input.projected(), input_, Direction::forward, u, workspace.products);
  } else {
    copy(u, input.gradient());
    if (has(low_rank_)) apply_low_rank(u, low_rank_.basis, low_rank_.forward, workspace.products);
    if (!dense_input_.is_identity) apply_input(u, dense_input_, Direction::forward, workspace.products);
  }
  if (!output_.is_identity) apply_output(u, output_, Direction::forward, workspace.products);
  if (!dense_output_.is_identity) apply_output(u, dense_output_, Direction::forward, workspace.products);
  if (specification_.hadamard) apply_hadamard(u, rotation(extent(u, 1)));
}

void LayerTransform::inverse(const Matrix<float>& u, TransformWorkspace& workspace) const {
  if (specification_.hadamard) apply_inverse_hadamard(u, rotation(extent(u, 1)));
  if (!output_.is_identity) apply_output(u, output_, Direction::inverse, workspace.products);
  if (!dense_output_.is_identity) apply_output(u, dense_output_, Direction::inverse, workspace.products);
  if (!input_.is_identity) apply_input(u, input_, Direction::inverse, workspace.products);
  if (!dense_input_.is_identity) apply_input(u, dense_input_, Direction::inverse, workspace.products);
  if (has(low_rank_)) apply_low_rank(u, low_rank_.basis, low_rank_.inverse, workspace.products);
}

GammaTerms LayerTransform::gamma_terms(const TransformInput& input, const Matrix<const float>& u,
                                       TransformWorkspace& workspace) const {
  if (specification_.hadamard)
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  if (has(low_rank_)) return gamma_low_rank(input.gradient(), low_rank_, workspace.products);
  Vector<double> row_weights, column_weights;
  const auto weights = [](const auto& whitening, std::int64_t d, Vector<double>& norms) {
    if (whitening.is_identity) return;
    norms = Vector<double>("minigift::inverse_row_norms", static_cast<std::size_t>(d));
    inverse_row_norms(whitening, norms);
  };
  weights(output_, extent(u, 0), row_weights);
  weights(input_, extent(u, 1), column_weights);
  weights(dense_output_, extent(u, 0), row_weights);
  weights(dense_input_, extent(u, 1), column_weights);
  return gamma_transformed(u, input.norm_squared(), row_weights, column_weights);
}

bool LayerTransform::is_identity() const {
  return input_.is_identity && output_.is_identity && dense_input_.is_identity && dense_output_.is_identity &&
         low_rank_.is_identity;
}

}  // namespace minigift
