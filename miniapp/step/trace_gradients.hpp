#pragma once
// Gradients replayed from an HDF5 trace: rank r of N takes recorded rank r mod R, iteration i recorded step i
// mod S. The tensors are those of the trace. Input sites come from the recorded second moments A: rows x =
// sqrt(d) L^T, A = L L^T, have x^T x / d = A.

#include "miniapp/step/gradient_source.hpp"
#include "miniapp/trace/trace_reader.hpp"

#include <cstdint>
#include <string>

namespace minigift {

class TraceGradients final : public GradientSource {
 public:
  /// Throws UsageError if the file is no complete trace or holds no gradients.
  TraceGradients(const std::string& path, int rank);

  const ParameterRegistry& registry() const override { return registry_; }
  void load(std::int64_t iteration, const Vector<float>& gradients) override;
  /// Throws UsageError where the trace has no second moment of this site.
  Matrix<const float> input(std::int64_t iteration, int site) override;
  std::string description() const override;
  std::string identity() const override;

 private:
  std::size_t step_of(std::int64_t iteration) const {
    return static_cast<std::size_t>(iteration) % trace_.steps().size();
  }

  TraceReader trace_;
  int recorded_rank_;
  ParameterRegistry registry_;
};

}  // namespace minigift
