#pragma once
// The layers of one traced step as the studies need them: gradients averaged over ranks in FP64, second
// moments over the tokens of a set of ranks, what is costly kept for the layers that share it.

#include "miniapp/fidelity/layer_geometry.hpp"
#include "miniapp/trace/trace_reader.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace minigift {

/// Recorded ranks 0 ... count - 1.
std::vector<int> first_ranks(int count);

/// Mean over `ranks` of a tensor's local gradients, in FP64, (rows, columns). Ranks saw equally many tokens.
Matrix<double> mean_gradient(const TraceReader& trace, std::size_t step, int tensor,
                             const std::vector<int>& ranks);
/// Rounded to FP32: what an FP32 exchange would hand to the optimizer.
Matrix<float> rounded(const Matrix<const double>& matrix);
/// One rank's local gradient.
Matrix<float> local_gradient(const TraceReader& trace, std::size_t step, int tensor, int rank);

/// Moments of one step over the tokens of some ranks. Keeps the eigenpairs of the last input site, which
/// neighbouring tensors share.
class StepGeometry {
 public:
  StepGeometry(const TraceReader& trace, std::size_t step, std::vector<int> ranks);

  /// Eigendecompositions happen here: O(d^3). `needs_output` false leaves G out.
  LayerGeometry layer(int tensor, bool needs_output);

 private:
  void load_input(int site);
  std::shared_ptr<const MomentGeometry> output(int tensor) const;

  const TraceReader& trace_;
  std::size_t step_;
  std::vector<int> ranks_;
  int site_ = -1;  // whose moments are held
  std::shared_ptr<const MomentGeometry> input_;
  std::shared_ptr<const SketchGeometry> sketch_;
};

}  // namespace minigift
