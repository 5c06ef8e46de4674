#include "miniapp/fidelity/paper_rows.hpp"

namespace minigift {

const std::vector<PaperRow>& paper_rows() {
  static const std::vector<PaperRow> rows = {
      {1, "Euclidean baseline", "euclidean", 5.281973e-02, 9.986041e-01, 1.625657e-04, 1.289936e-10},
      {1, "Output-side only", "output-full", 5.282879e-02, 9.986036e-01, 1.629426e-04, 1.290378e-10},
      {1, "Input-side only", "input-full", 1.768108e-02, 9.998500e-01, 5.332805e-05, 1.445418e-11},
      {1, "K-FAC", "two-sided", 1.770532e-02, 9.998502e-01, 5.332805e-05, 1.449384e-11},
      {2, "Euclidean baseline", "euclidean", 5.281973e-02, 9.986041e-01, 1.625657e-04, 1.289936e-10},
      {2, "Input-side full-A", "input-full", 1.768108e-02, 9.998500e-01, 5.332805e-05, 1.445418e-11},
      {2, "Input-side diag-A", "input-diag", 5.262250e-02, 9.986144e-01, 1.609139e-04, 1.280321e-10},
      {2, "Input-side block-A-32", "input-block-32", 3.168243e-02, 9.994993e-01, 1.269338e-04, 4.641014e-11},
      {2, "Input-side block-A-64", "input-block-64", 2.754295e-02, 9.996220e-01, 1.051468e-04, 3.507491e-11},
      {2, "Input-side block-A-128", "input-block-128", 2.431718e-02, 9.997058e-01, 1.051468e-04,
       2.734022e-11},
      {2, "Input-side low-rank-A-8", "input-lowrank-8", 1.958074e-02, 9.998106e-01, 7.036887e-05,
       1.772696e-11},
      {2, "Input-side low-rank-A-16", "input-lowrank-16", 1.731027e-02, 9.998523e-01, 5.883700e-05,
       1.385426e-11},
      {2, "Input-side low-rank-A-32", "input-lowrank-32", 1.720702e-02, 9.998551e-01, 6.311573e-05,
       1.368948e-11}};
  return rows;
}

}  // namespace minigift
