#pragma once
// What a trace holds: the gradients and curvature of chosen parameters at chosen steps of a run, of every
// recorded rank. README.md beside this file says how it lies in an HDF5 file.

#include "kernels/view.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// A parameter whose gradient is recorded: a linear layer's weight (rows, columns) = (outputs, inputs), y = x
/// w^T.
struct TraceTensor {
  std::string name;         ///< as in the parameter registry: model.layers.3.mlp.down_proj.weight
  std::string role;         ///< attention_q, mlp_down, ...
  std::int64_t layer = -1;  ///< decoder layer, or -1
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string input_site;  ///< name of the TraceSite that feeds it; empty: none is recorded
};

/// A distinct input x (tokens, width) of one or several of the tensors.
struct TraceSite {
  std::string name;         ///< model.layers.3.mlp.down_proj:input
  std::int64_t layer = -1;  ///< decoder layer, or -1
  std::int64_t width = 0;   ///< d
};

/// Which arrays each step has; what is set is there for every tensor (or site).
struct TraceContent {
  bool gradient = false;       ///< per tensor (rows, columns)
  bool input_moment = false;   ///< per site, A = E[x x^T] (d, d)
  bool output_moment = false;  ///< per tensor, G = E[delta delta^T] (rows, rows)
  bool sketch = false;         ///< per site, Y = sum x (x^T Omega) (d, k), with Omega (d, k)
};

struct TraceHeader {
  std::string program_version;
  std::string git_commit;
  std::string created_utc;  ///< 2026-01-31T12:34:56Z
  std::string model;
  std::string deck;    ///< the run's effective deck, TOML
  std::string method;  ///< name of the exchange method
  int world_size = 0;  ///< ranks of the run
  int ranks = 0;       ///< ranks that are recorded: the first `ranks` of the run
  TraceContent content;
  std::vector<TraceTensor> tensors;
  std::vector<TraceSite> sites;
};

struct TraceStep {
  std::int64_t step = 0;
  double learning_rate = 0.0;
  std::int64_t tokens_per_rank = 0;
  std::vector<double> loss;  ///< of each recorded rank, mean over its tokens [nat]
};

/// A sketch of a site's second moment over the tokens of one rank: kernels/geometry/sketch.hpp.
struct TraceSketch {
  HostMatrix<float> y;            ///< (d, k): sum over tokens of x (x^T Omega)
  HostMatrix<float> test_matrix;  ///< (d, k): Omega, the same on all ranks
  double trace_sum = 0.0;         ///< sum over tokens of ||x||^2
  double tokens = 0.0;
};

}  // namespace minigift
