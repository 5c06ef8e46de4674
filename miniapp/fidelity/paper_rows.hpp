#pragma once
// The figures of Tables I and II of GIFT (arXiv:2607.07494), to stand beside ours.

#include <string>
#include <vector>

namespace minigift {

struct PaperRow {
  int table;              ///< 1 or 2
  std::string method;     ///< the paper's name
  std::string transform;  ///< ours (transform_catalog.hpp)
  double rel_l2, cosine, max_error, mse;
};

/// In the order of the paper.
const std::vector<PaperRow>& paper_rows();

}  // namespace minigift
