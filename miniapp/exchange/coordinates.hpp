#pragma once
// To and from the communication coordinates of each tensor: X = W T before the cast, W = X T^{-1} after the
// sum.
//
// T comes from the second moment of the tensor's input, refreshed every K steps. Until the first refresh,
// where the moment is unusable, and where the guard says that the coordinates would not help, T is the
// identity; how many tensors that concerns is counted and shown.

#include "kernels/geometry/dense.hpp"
#include "kernels/geometry/gamma.hpp"
#include "kernels/geometry/whitening.hpp"
#include "kernels/view.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/exchange/second_moments.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace minigift {

/// One invertible change of coordinates on the columns of a gradient.
class ColumnTransform {
 public:
  /// From the summed moment of one site.
  ColumnTransform(const Method& method, const SecondMoments& moments, int site);

  bool is_identity() const { return low_rank_.is_identity && dense_.is_identity; }
  /// w <- w T, in place; w (rows, d).
  void forward(const Matrix<float>& w, Vector<float>& workspace) const;
  /// w <- w T^{-1}, in place.
  void inverse(const Matrix<float>& w, Vector<float>& workspace) const;
  /// Terms of gamma(w, T): rounding error in these coordinates relative to the format's floor.
  GammaTerms gamma_terms(const Matrix<float>& w, Vector<float>& workspace) const;
  std::int64_t bytes() const;

 private:
  LowRankWhitening low_rank_;
  DenseWhitening dense_;
};

class Coordinates {
 public:
  /// `tensor_site[t]` is the input site of tensor t, -1 where no transform is possible.
  explicit Coordinates(std::vector<int> tensor_site);

  /// Computes new transforms for all used sites from the all-reduced moments. Tensors keep their old
  /// transform until adopt(). Every rank computes the same bits from the same moments.
  void refresh(const Method& method, const SecondMoments& moments);

  /// Candidate of the last refresh for a tensor; null if there is none or it is the identity.
  const ColumnTransform* candidate(int tensor) const;
  /// Switches a tensor to the candidate, or to the identity, and re-expresses `residual` (rows, d; may be
  /// empty): R <- R T_old^{-1} T_new.
  void adopt(int tensor, bool use_candidate, const Matrix<float>& residual);

  /// In place; nothing happens where the tensor's transform is the identity.
  void to_communication(int tensor, const Matrix<float>& gradient);
  void from_communication(int tensor, const Matrix<float>& gradient);

  bool is_identity(int tensor) const { return !current_[static_cast<std::size_t>(tensor)]; }
  Vector<float>& workspace() { return workspace_; }
  std::int64_t bytes() const;

 private:
  std::vector<int> tensor_site_;
  std::vector<std::shared_ptr<const ColumnTransform>> site_candidate_;
  std::vector<std::shared_ptr<const ColumnTransform>> current_;  // null: identity
  Vector<float> workspace_;
};

}  // namespace minigift
