#pragma once
// Reads a trace, one array at a time, straight into the result. Needs no MPI and knows nothing of training.
// Reading checks shapes; verify.hpp checks the contents.

#include "miniapp/trace/layout.hpp"
#include "miniapp/trace/trace.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace minigift {

/// An array as it lies in the file.
struct TraceArrayInfo {
  std::int64_t ranks = 0;  ///< 1 where all ranks share it
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stored_bytes = 0;            ///< in the file, compressed where it is
  std::vector<std::uint64_t> content_hash;  ///< of each rank's part, as the writer recorded it
};

class TraceReader {
 public:
  /// Opens a complete trace. Throws UsageError, in one line, if there is none: the file is missing, no HDF5
  /// file, cut off, another program's, not finished, or of another schema version.
  explicit TraceReader(const std::string& path);
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;

  const std::string& path() const;
  const TraceHeader& header() const;
  /// Ascending by step.
  const std::vector<TraceStep>& steps() const;
  /// Index into the header's tensors or sites. Throws UsageError if there is none of this name.
  int find_tensor(std::string_view name) const;
  int find_site(std::string_view name) const;

  // Index of a step in steps(), of a tensor or site in the header, of a recorded rank. Throw RuntimeError if
  // the trace has no such array, if its shape is not the header's, or with HDF5's words.

  HostMatrix<float> gradient(std::size_t step_index, int tensor, int rank) const;       // (rows, columns)
  double amax(std::size_t step_index, int tensor, int rank) const;                      // of that gradient
  HostMatrix<float> input_moment(std::size_t step_index, int site, int rank) const;     // (d, d)
  double input_tokens(std::size_t step_index, int site, int rank) const;                // of that moment
  HostMatrix<float> output_moment(std::size_t step_index, int tensor, int rank) const;  // (rows, rows)
  double output_tokens(std::size_t step_index, int tensor, int rank) const;
  TraceSketch sketch(std::size_t step_index, int site, int rank) const;

  // The same for whoever goes through all arrays.

  TraceArrayInfo info(std::size_t step_index, trace_layout::ArrayKind kind, int owner) const;
  HostMatrix<float> array(std::size_t step_index, trace_layout::ArrayKind kind, int owner, int rank) const;
  /// The number `name` (trace_layout::RankNumber) of each rank.
  std::vector<double> numbers(std::size_t step_index, trace_layout::ArrayKind kind, int owner,
                              const char* name) const;

  /// The open file, for checks of its structure.
  std::int64_t hdf5_file() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace minigift
