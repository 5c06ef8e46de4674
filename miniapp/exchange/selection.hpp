#pragma once
// Which tensors take the method's coordinates; all others are sent in Euclidean ones.
//
// A deck names them by list or pattern ("model.layers.*.mlp.down_proj.weight"), by file (one pattern per
// line, # starts a comment), "all" hidden matrices, or "auto": at the first refreshes every hidden matrix is
// a candidate, and those with the largest expected saving per parameter are kept,
//     score = (1 - gamma(W, T)^2) ||W||^2 / size(W),
// up to a share of the candidates' parameters. gamma is the closed form of kernels/geometry/gamma.hpp.

#include "kernels/geometry/gamma.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/model/parameter_registry.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// What selection has to know of a tensor.
struct SelectionCandidate {
  std::string name;
  std::int64_t size = 0;
  bool has_input_site = false;  ///< its input's moment can be gathered
  bool is_hidden_matrix = false;
};

/// The registry's tensors as candidates.
std::vector<SelectionCandidate> selection_candidates(const ParameterRegistry& registry);

class LayerSelection {
 public:
  /// Throws UsageError for a pattern that matches no tensor or one without an input site, or an unreadable
  /// file.
  LayerSelection(const Method& method, const std::vector<SelectionCandidate>& candidates);

  bool selected(int tensor) const { return selected_[static_cast<std::size_t>(tensor)]; }
  /// Selected now, or possibly later: its input's moment is needed.
  bool considered(int tensor) const { return considered_[static_cast<std::size_t>(tensor)]; }
  /// True while "auto" still gathers scores. In such a step all considered tensors must report().
  bool is_profiling() const { return auto_ && refreshes_ < method_.auto_refreshes; }
  /// Adds the terms, summed over ranks, of one considered tensor at a refresh.
  void report(int tensor, const GammaTerms& terms);
  /// Ends a profiling refresh: selects by mean score.
  void choose();

  std::int64_t selected_parameters() const;
  int selected_tensors() const;

 private:
  Method method_;
  std::vector<SelectionCandidate> candidates_;
  std::vector<bool> selected_;
  std::vector<bool> considered_;
  std::vector<double> score_;
  bool auto_ = false;
  std::int64_t refreshes_ = 0;
};

}  // namespace minigift
