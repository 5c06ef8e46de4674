#pragma once
// Gradients that no model computes: what the exchange gets where the compute phases are left out or waited
// for.

#include "kernels/view.hpp"
#include "miniapp/model/parameter_registry.hpp"

#include <cstdint>
#include <string>

namespace minigift {

class GradientSource {
 public:
  virtual ~GradientSource() = default;

  /// The tensors, and where they lie in the flat buffer.
  virtual const ParameterRegistry& registry() const = 0;
  /// gradients (flat_size) <- this rank's gradients of an iteration, from 0; the padding is zero.
  virtual void load(std::int64_t iteration, const Vector<float>& gradients) = 0;
  /// Rows x (R, width) whose second moment x^T x / R is that of the input site in this iteration. Valid until
  /// the next call. Throws UsageError where the source has none.
  virtual Matrix<const float> input(std::int64_t iteration, int site) = 0;
  /// "synthetic, ...", "trace FILE, ...": for headers.
  virtual std::string description() const = 0;
  /// The same without what does not matter when runs are compared.
  virtual std::string identity() const = 0;
};

}  // namespace minigift
