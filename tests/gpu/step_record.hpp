#pragma once
// One training step as files, so that two builds of the program (host and GPU, two libraries) can be compared
// tensor by tensor.
//
//   DIR/step.json        model, compute, ranks, loss, backend, and the tensors: name, offset, count
//   DIR/gradients.f32    the exchanged gradient, flat, FP32, native byte order
//   DIR/updates.f32      parameters after the step minus before

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

struct RecordedTensor {
  std::string name;
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

struct StepRecord {
  std::string model, compute, method, backend;
  double loss = 0;
  std::vector<RecordedTensor> tensors;
  std::vector<float> gradients, updates;
};

/// Makes DIR, which must not exist. Throws RuntimeError naming the file that could not be written.
void write_step(const std::string& directory, const StepRecord& step);
/// Throws RuntimeError naming the file and what is wrong with it.
StepRecord read_step(const std::string& directory);

struct StepBounds {
  double loss = 0;      ///< |difference| / |loss|
  double gradient = 0;  ///< relative L2, each tensor
  double update = 0;    ///< relative L2, each tensor
};

/// What two correct builds may differ by. Sums of the products run in another order and exp, sin and cos may
/// round otherwise, so FP32 differs by a modest multiple of the roundoff times the root of the depth. With
/// bf16 (tf32) operands such a difference now and then moves an operand to its other neighbour, 2^-8 (2^-11)
/// away. Measured between host builds with and without oneDNN, then widened: see tests/gpu/README.md.
StepBounds step_bounds(const std::string& compute);

/// Prints every tensor that is out of bounds, the worst tensor of each kind and a verdict; true if all is
/// within bounds. Throws RuntimeError if the two records are not of the same model, compute, method and
/// tensors.
bool compare_steps(const StepRecord& first, const StepRecord& second, const StepBounds& bounds);

}  // namespace minigift
