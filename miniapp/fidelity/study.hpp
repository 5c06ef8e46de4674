#pragma once
// The fidelity study of one trace: which parts, over which tensors and steps, shared among ranks.

#include "miniapp/fidelity/one_step.hpp"
#include "miniapp/fidelity/summed_gradient.hpp"
#include "miniapp/trace/trace_reader.hpp"

#include <functional>
#include <string>
#include <vector>

namespace minigift {

struct StudyOptions {
  std::vector<std::int64_t> steps;   ///< traced steps; empty: all
  std::vector<std::string> tensors;  ///< "all", "mlp", "attention", roles, patterns with *; empty: all
  std::vector<std::string> formats = {"e5m2", "e4m3"};
  bool tables = true;  ///< one-step round trips
  bool muon = true;    ///< errors of Muon's update, for the first format of the tables
  bool age = true;     ///< factors of other tokens and of earlier steps
  bool sums = true;    ///< summed gradients
  /// N of the sums; up to the recorded ranks those are taken, above gradients are drawn. Empty: 2, 4, ... and
  /// all recorded.
  std::vector<std::int64_t> sum_ranks;
  std::uint64_t seed = 1;  ///< of drawn gradients
};

/// A round trip with a factor that is not of the gradient's own tokens.
struct AgeRow {
  OneStepRow row;
  std::int64_t factor_step = 0;  ///< step whose inputs made the factor
  /// "all": gradient and factor of all ranks. "same" and "other": gradient of the first half of the ranks,
  /// factor of the same or of the second half.
  std::string tokens;
};

struct StudyResult {
  std::vector<OneStepRow> one_step;
  std::vector<AgeRow> age;
  std::vector<SumRow> sums;
  std::vector<std::string> left_out;  ///< "TRANSFORM: why", once each
};

/// Fraction of this rank's work that is done, and what is going on.
using StudyProgress = std::function<void(double fraction, const std::string& text)>;

/// Indices of the traced tensors that the words choose. Throws UsageError for a pattern that chooses none.
std::vector<int> chosen_tensors(const TraceReader& trace, const std::vector<std::string>& patterns);
/// Indices of the traced steps, ascending. Throws UsageError naming a step that the trace does not have.
std::vector<std::size_t> chosen_steps(const TraceReader& trace, const std::vector<std::int64_t>& steps);

/// The share `part` of `parts` of the work: input sites in turn, because tensors of a site share its
/// eigenpairs. Throws UsageError where the trace lacks gradients.
StudyResult run_study(const TraceReader& trace, const StudyOptions& options, int part, int parts,
                      const StudyProgress& progress);

}  // namespace minigift
