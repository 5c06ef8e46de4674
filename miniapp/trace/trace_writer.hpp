#pragma once
// Writes a trace: all ranks of a run together, into one HDF5 file.
//
// The file appears under its name only in finish(), complete and on disk; until then it grows as
// NAME.partial. Each rank writes its own part of each array, independently of the others; with shuffle or
// deflate HDF5 wants the ranks to write together. What is small (header, attributes, digests) rank 0 writes
// at the end.
//
// An error that all ranks meet is thrown on all of them. One that a single rank meets (a full disk, say) is
// thrown there alone, because the others may be inside HDF5 and never answer: let it leave, so that mpi_main
// ends all ranks.

#include "miniapp/trace/trace.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace minigift {

struct TraceWriterOptions {
  int deflate = 0;       ///< zlib's level, 1 (fast) to 9; 0: not compressed
  bool shuffle = false;  ///< bytes of equal weight side by side before deflate, which then finds more
  /// No write to the file is larger than this [B]. From 4 to 1 GiB.
  std::int64_t max_write_bytes = std::int64_t{1} << 30;
  /// Size of a chunk, the unit of compression and of partial reads [B]. At least 4; no larger than
  /// max_write_bytes.
  std::int64_t chunk_bytes = std::int64_t{1} << 22;
  /// Arrays of at least 64 KiB begin at a multiple of this in the file [B]: the block or stripe of the file
  /// system.
  std::int64_t alignment_bytes = 4096;
};

/// Every method is collective over the communicator, with the same tensor or site on all ranks. Ranks from
/// header.ranks on are not recorded: they hand in empty arrays (0 x 0), whose numbers are ignored.
class TraceWriter {
 public:
  /// Creates PATH.partial. Throws UsageError if it or PATH exists or cannot be created, or if header or
  /// options cannot be. The header must be the same on all ranks. The communicator must outlive the writer.
  TraceWriter(const std::string& path, const TraceHeader& header, const TraceWriterOptions& options,
              Communicator& communicator);
  /// Without finish(): closes and removes the temporary file. If an exception is on its way the other ranks
  /// may not come: then it only removes it.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Steps may come in any order, each once. mine.loss: this rank's, one value (ignored on ranks that are not
  /// recorded); all else the same on all ranks.
  void begin_step(const TraceStep& mine);

  // Between begin_step and end_step, in the same order on all ranks. Throw RuntimeError for a shape other
  // than the header's, an array that the header's content does not name, or one given twice.

  /// This rank's gradient of the mean loss over its tokens [nat / weight], before any exchange; (rows,
  /// columns).
  void gradient(int tensor, const HostMatrix<const float>& w);
  /// (d, d): mean over this rank's tokens of x x^T [activation^2].
  void input_moment(int site, const HostMatrix<const float>& a, double tokens);
  /// (rows, rows): mean over this rank's tokens of delta delta^T, delta = d(loss summed over tokens)/dy
  /// [nat^2 / activation^2].
  void output_moment(int tensor, const HostMatrix<const float>& g, double tokens);
  /// y (d, k): sum over this rank's tokens of x (x^T Omega); trace_sum: sum of ||x||^2. The test matrix Omega
  /// (d, k) is the same on all recorded ranks, but may change from step to step.
  void sketch(int site, const HostMatrix<const float>& y, double trace_sum, double tokens,
              const HostMatrix<const float>& test_matrix);

  /// Throws RuntimeError if an array that the header promises is missing.
  void end_step();

  /// Seals the file and gives it its name. Nothing can be written afterwards. Throws RuntimeError within a
  /// step, or if a file of that name has appeared.
  void finish();

  /// Bytes of arrays that this rank has handed to HDF5 so far.
  std::int64_t bytes_written() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace minigift
