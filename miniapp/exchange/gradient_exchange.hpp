#pragma once
// What happens to a gradient between backward and the optimizer.
//
//   begin_step(step)                    before the step's first forward
//   observe_input(site, x)              from forward, while observes_inputs()
//   begin_backward()                    before the backward of the last micro-batch
//   ready(tensor)                       from that backward, as each tensor's gradient is finished
//   finish()                            after it: the gradient buffer then holds the mean over all ranks
//
// All calls are collective: every rank makes the same ones in the same order. After finish() all ranks hold
// the same bits (unless the method allows divergence), or all were told to skip the step.

#include "kernels/format/bfloat16.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <string>

namespace minigift {

struct ExchangeResult {
  bool skipped = false;      ///< a gradient was not finite on some rank, or the sum is not: nobody may use it
  double gradient_norm = 0;  ///< global L2 norm of the exchanged gradient, FP64 sum
  std::string reason;        ///< then: which tensor on which rank
  QuantizeCounters counters;          ///< of this rank's casts
  std::int64_t fallback_tensors = 0;  ///< selected tensors that the guard keeps in Euclidean coordinates
  std::int64_t selected_tensors = 0;
  std::int64_t selected_parameters = 0;
};

class GradientExchange {
 public:
  virtual ~GradientExchange() = default;

  virtual void begin_step(std::int64_t step) = 0;
  virtual bool observes_inputs() const = 0;
  virtual void observe_input(int site, const Matrix<const float>& x) = 0;
  virtual void observe_input(int site, const Matrix<const bfloat16>& x) = 0;
  virtual void begin_backward() = 0;
  virtual void ready(int tensor) = 0;
  virtual ExchangeResult finish() = 0;

  /// Encoded gradient of one rank and step, scales included [B].
  virtual std::int64_t payload_bytes() const = 0;
  /// Memory this method needs beside the gradient itself [B].
  virtual std::int64_t memory_bytes() const = 0;
  virtual std::string description() const = 0;
};

}  // namespace minigift
