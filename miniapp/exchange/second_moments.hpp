#pragma once
// Second moments of what enters or leaves linear layers, gathered while forward and backward run: A = E[x
// x^T] of the inputs, or G = E[d d^T] of the output gradients.
//
// A *site* is a distinct matrix of tokens: layers that read the same activations share one (q, k, v; gate,
// up). A low-rank method keeps a sketch (d x k), the dense methods the whole matrix (d x d). Both are sums
// over tokens, so that micro-batches and ranks add.

#include "kernels/format/bfloat16.hpp"
#include "kernels/geometry/sketch.hpp"
#include "kernels/view.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <vector>

namespace minigift {

class SecondMoments {
 public:
  /// `site_width[s]` is the width d of site s, 0 for a site that no selected tensor reads.
  SecondMoments(const Method& method, const std::vector<std::int64_t>& site_width, std::uint64_t seed);

  /// Adds the tokens x (R, d) of one micro-batch. Ignores sites of width 0.
  void observe(int site, const Matrix<const float>& x);
  void observe(int site, const Matrix<const bfloat16>& x);

  /// Sums over all ranks; afterwards every rank holds the same bits. Collective.
  void all_reduce(Communicator& communicator);
  /// False if a moment holds an infinity or a NaN. The same on all ranks after all_reduce().
  bool finite() const;
  /// Forgets all tokens.
  void reset();
  /// Forgets all tokens and takes this window's leading directions as the next one's test matrix: one step of
  /// subspace iteration for free. From all-reduced, finite moments, so that every rank takes the same.
  void reset_warm();

  const Sketch& sketch(int site) const { return at(site).sketch; }
  const Matrix<float>& test_matrix(int site) const { return at(site).omega; }
  /// A = (sum x x^T) / tokens in FP64.
  Matrix<double> dense_moment(int site) const;
  std::int64_t tokens(int site) const;
  bool used(int site) const { return at(site).width > 0; }
  int sites() const { return static_cast<int>(sites_.size()); }

  std::int64_t bytes() const;

 private:
  struct Site {
    std::int64_t width = 0;
    Matrix<float> omega;  // (d, k) sketch only
    Sketch sketch;        // y (d, k); dense: y is (d, d) and holds sum x x^T
  };
  template <class In>
  void observe_any(int site, const Matrix<const In>& x);
  const Site& at(int site) const { return sites_[static_cast<std::size_t>(site)]; }

  bool dense_;
  std::vector<Site> sites_;
  SketchWorkspace workspace_;
};

}  // namespace minigift
