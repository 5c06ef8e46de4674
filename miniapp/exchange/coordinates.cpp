#include "miniapp/exchange/coordinates.hpp"

#include "kernels/geometry/factor.hpp"

#include <algorithm>
#include <set>

namespace minigift {

ColumnTransform::ColumnTransform(const Method& method, const SecondMoments& moments, int site) {
  switch (method.coordinates) {
    case CoordinateSystem::euclidean:
      return;
    case CoordinateSystem::input_low_rank: {
      const LowRankFactor factor =
          nystrom_factor(moments.sketch(site), moments.test_matrix(site), method.rank);
      low_rank_ = make_low_rank_whitening(factor, method.whitening);
      return;
    }
    case CoordinateSystem::input_full:
      dense_ = make_full_whitening(moments.dense_moment(site), method.whitening);
      return;
    case CoordinateSystem::input_block:
      dense_ = make_block_whitening(moments.dense_moment(site), method.block, method.whitening);
      return;
    case CoordinateSystem::input_diagonal:
      dense_ = make_diagonal_whitening(moments.dense_moment(site), method.whitening);
      return;
  }
}

void ColumnTransform::forward(const Matrix<float>& w, Vector<float>& workspace) const {
  if (!low_rank_.is_identity) {
    apply_low_rank(w, low_rank_.basis, low_rank_.forward, workspace);
  } else if (!dense_.is_identity) {
    apply_input(w, dense_, Direction::forward, workspace);
  }
}

void ColumnTransform::inverse(const Matrix<float>& w, Vector<float>& workspace) const {
  if (!low_rank_.is_identity) {
    apply_low_rank(w, low_rank_.basis, low_rank_.inverse, workspace);
  } else if (!dense_.is_identity) {
    apply_input(w, dense_, Direction::inverse, workspace);
  }
}

GammaTerms ColumnTransform::gamma_terms(const Matrix<float>& w, Vector<float>& workspace) const {
  return low_rank_.is_identity ? gamma_input(w, dense_) : gamma_low_rank(w, low_rank_, workspace);
}

std::int64_t ColumnTransform::bytes() const {
  return 4 * static_cast<std::int64_t>(low_rank_.basis.size() + low_rank_.forward.size() +
                                       low_rank_.inverse.size() + dense_.transform.size() +
                                       dense_.inverse.size());
}

Coordinates::Coordinates(std::vector<int> tensor_site)
    : tensor_site_(std::move(tensor_site)), current_(tensor_site_.size()) {}

void Coordinates::refresh(const Method& method, const SecondMoments& moments) {
  site_candidate_.assign(static_cast<std::size_t>(moments.sites()), nullptr);
  for (int site = 0; site < moments.sites(); ++site) {
    if (!moments.used(site)) continue;
    auto transform = std::make_shared<const ColumnTransform>(method, moments, site);
    if (!transform->is_identity()) site_candidate_[static_cast<std::size_t>(site)] = std::move(transform);
  }
}

const ColumnTransform* Coordinates::candidate(int tensor) const {
  const int site = tensor_site_[static_cast<std::size_t>(tensor)];
  if (site < 0 || site_candidate_.empty()) return nullptr;
  return site_candidate_[static_cast<std::size_t>(site)].get();
}

void Coordinates::adopt(int tensor, bool use_candidate, const Matrix<float>& residual) {
  auto& current = current_[static_cast<std::size_t>(tensor)];
  const bool has_residual = residual.size() > 0;
  if (current && has_residual) current->inverse(residual, workspace_);
  current = use_candidate && candidate(tensor) != nullptr
                ? site_candidate_[static_cast<std::size_t>(tensor_site_[static_cast<std::size_t>(tensor)])]
                : nullptr;
  if (current && has_residual) current->forward(residual, workspace_);
}

void Coordinates::to_communication(int tensor, const Matrix<float>& gradient) {
  const auto& current = current_[static_cast<std::size_t>(tensor)];
  if (current) current->forward(gradient, workspace_);
}

void Coordinates::from_communication(int tensor, const Matrix<float>& gradient) {
  const auto& current = current_[static_cast<std::size_t>(tensor)];
  if (current) current->inverse(gradient, workspace_);
}

std::int64_t Coordinates::bytes() const {
  std::set<const ColumnTransform*> distinct;
  for (const auto& transform : site_candidate_)
    distinct.insert(transform.get());
  for (const auto& transform : current_)
    distinct.insert(transform.get());
  std::int64_t bytes = 4 * static_cast<std::int64_t>(workspace_.size());
  for (const ColumnTransform* transform : distinct) {
    if (transform != nullptr) bytes += transform->bytes();
  }
  return bytes;
}

}  // namespace minigift
