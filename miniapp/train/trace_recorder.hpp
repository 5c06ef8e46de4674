#pragma once
// Writes chosen steps of a training to a trace file: local gradients, second moments, losses ([trace] of the
// deck; layout in miniapp/trace/README.md).
//
// In a traced step it holds, in device memory, d^2 floats per input site and output for dense moments, and on
// the host a copy of the chosen gradients; gathering them costs 2 R d^2 flop per micro-batch and moment.

#include "miniapp/deck/deck.hpp"
#include "miniapp/exchange/second_moments.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/trace/trace_writer.hpp"
#include "miniapp/train/step_observer.hpp"
#include "miniapp/transport/communicator.hpp"

#include <memory>
#include <string>
#include <vector>

namespace minigift {

/// Indices, ascending, of the tensors that the words of trace.tensors choose: "mlp", "attention", "all" for
/// matrices of the decoder layers, else a pattern. Throws UsageError for a word that chooses nothing, or a
/// tensor that is no matrix of a decoder layer.
std::vector<int> traced_tensors(const std::vector<std::string>& words, const ParameterRegistry& registry);

class TraceRecorder final : public StepObserver {
 public:
  /// Collective; makes the file under a temporary name. `method` is written to the header. The registry and
  /// the gradients that it describes must outlive the recorder.
  TraceRecorder(const Deck& deck, const std::string& method, const ParameterRegistry& registry,
                const Vector<float>& gradients, Communicator& communicator);

  std::int64_t global_batch(std::int64_t step, std::int64_t planned) const override;
  bool begin_step(std::int64_t step) override;
  bool observes_inputs() const override { return content_.input_moment || content_.sketch; }
  void observe_input(int site, const Matrix<const float>& x) override;
  void observe_input(int site, const Matrix<const bfloat16>& x) override;
  bool observes_outputs() const override { return content_.output_moment; }
  void observe_output(int parameter, const Matrix<const float>& dy) override;
  void observe_output(int parameter, const Matrix<const bfloat16>& dy) override;
  void gradient_ready(int parameter) override;
  void end_step(const ObservedStep& step) override;

  /// Collective. Completes the file; without it nothing is left behind.
  void finish();
  const std::string& path() const { return path_; }
  std::int64_t steps_written() const { return steps_written_; }

 private:
  template <class In>
  void input(int site, const Matrix<const In>& x);
  /// Whether this rank's data are written.
  bool recorded() const { return communicator_.rank() < ranks_; }
  void write_inputs();
  void write_outputs(double tokens);

  const ParameterRegistry& registry_;
  Vector<float> gradients_;
  Communicator& communicator_;
  std::string path_;
  std::vector<std::int64_t> steps_;
  std::int64_t global_batch_;
  std::int64_t ranks_;
  TraceContent content_;
  std::vector<int> tensors_;                                    // parameter of each traced tensor
  std::vector<int> tensor_index_;                               // traced tensor of each parameter, or -1
  std::vector<int> sites_;                                      // input site of each traced site
  std::unique_ptr<SecondMoments> inputs_, sketches_, outputs_;  // by input site, input site, parameter
  std::vector<HostMatrix<float>> local_;                        // of each traced tensor
  std::unique_ptr<TraceWriter> writer_;
  std::int64_t steps_written_ = 0;
};

}  // namespace minigift
