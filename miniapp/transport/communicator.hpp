#pragma once
// Collective operations over MPI ranks on bytes and floats. Knows no gradient.
//
// Non-blocking operations return a Request. Several may be in flight at once and may be waited for in any
// order; they advance whenever progress(), Request::test() or any blocking call runs. All ranks must START
// the same operations in the same order: the order is the sequence number that pairs them.
//
// N is the number of ranks, bytes the size of the buffer on one rank. With latency a and time per byte b of a
// link the operations cost
//   native_all_reduce   2(N-1) a + 2 (N-1)/N bytes b
//   all_to_all          (N-1) a + (N-1) bytes_per_peer b
//   all_gather          (N-1) a + (N-1) bytes b
// (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH",
// 2005).

#include "kernels/format/format.hpp"
#include "kernels/view.hpp"
#include "miniapp/transport/request.hpp"
#include "miniapp/transport/staging.hpp"
#include "miniapp/transport/traffic.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace minigift {

struct CommunicatorOptions {
  /// No message is larger than this [B]; larger buffers travel in pieces. At least 8, below 2^31.
  std::int64_t max_message_bytes = (std::int64_t{1} << 31) - 64;
  /// native_all_reduce sends a chunk in pieces of this size [B], so that adding one overlaps with receiving
  /// the next.
  std::int64_t pipeline_bytes = std::int64_t{1} << 18;
  /// A blocking call that lasts longer than this [s] ends the program, after naming rank and operation.
  double watchdog_seconds = 300.0;
  /// Compare (operation, type, count, root, format) over the ranks before the first use of each combination.
  bool check_signatures = true;
  /// Compare each operation with a result computed locally, once, in the constructor.
  bool self_test = true;
  Staging staging = Staging::host;
};

/// Where a rank runs, for reports.
struct Placement {
  std::string host;
  std::int64_t process = 0;
  std::string cores;  ///< the CPU cores the process may use, as "0-3,8"
};

enum class ErrorKind { runtime, usage };

class Communicator {
 public:
  /// Collective over MPI_COMM_WORLD, which must be initialised; works on duplicates of it.
  /// Throws UsageError for options out of range or a world that the launcher did not start (launcher.hpp),
  /// RuntimeError if the self test finds a wrong result.
  explicit Communicator(const CommunicatorOptions& options = {});
  /// Collective, unless an exception is unwinding the stack.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;
  /// Ranks that share memory form a node. node_rank() counts 0 .. ranks_on_node() - 1 within it.
  int node_rank() const;
  int ranks_on_node() const;
  int node_count() const;

  // --- non-blocking
  // ----------------------------------------------------------------------------------------------
  /// values <- element-wise maximum over the ranks. A NaN counts as +infinity, so that it cannot get lost.
  Request all_reduce_max(const Vector<float>& values, Traffic traffic = Traffic::metadata);

  /// values <- element-wise sum over the ranks, in the values' own precision, by the MPI library: identical
  /// bits on every rank, in an order of addition that the library chooses (and may choose by message size).
  Request all_reduce_sum(const Vector<float>& values, Traffic traffic = Traffic::control);
  Request all_reduce_sum(const Vector<double>& values, Traffic traffic = Traffic::control);

  /// Sum of codes, rounded to `format` (fp32, bf16, e4m3, e5m2; saturating) at every hop: a ring
  /// reduce-scatter, then a ring all-gather. codes (N * chunk bytes) is replaced by the sum; its size must be
  /// divisible by N * bytes_per_code(format).
  ///
  /// Order of addition: chunk c, the c-th of N equal parts, is
  ///   ((x_c + x_{c+1}) + x_{c+2}) + ... + x_{c+N-1},   indices of ranks mod N, rounded after each +,
  /// so results depend on N, but not on timing, chunk limits or the MPI library. Every rank ends with the
  /// same bytes. Serial form: kernels/reference/native_all_reduce.hpp. Wire bytes per rank: 2 (N-1)/N *
  /// size(codes), exactly.
  Request native_all_reduce(Format format, const Vector<std::uint8_t>& codes,
                            Traffic traffic = Traffic::payload);

  /// Rank r's part p of send (N * bytes_per_peer) becomes part r of rank p's receive (the same size).
  /// Wire bytes per rank: (N-1) * bytes_per_peer. The two buffers must not overlap.
  Request all_to_all(const Vector<const std::uint8_t>& send, const Vector<std::uint8_t>& receive,
                     std::int64_t bytes_per_peer, Traffic traffic = Traffic::payload);

  /// receive (N * bytes) <- the send buffers (bytes) of all ranks, in rank order. send may be this rank's own
  /// part of receive. Wire bytes per rank: (N-1) * bytes.
  Request all_gather(const Vector<const std::uint8_t>& send, const Vector<std::uint8_t>& receive,
                     std::int64_t bytes, Traffic traffic = Traffic::payload);

  /// Advances everything in flight. Cheap when nothing is.
  void progress();

  // --- blocking
  // --------------------------------------------------------------------------------------------------
  void barrier();
  /// bytes of rank `root` -> all ranks.
  void broadcast(const Vector<std::uint8_t>& bytes, int root, Traffic traffic = Traffic::control);
  std::string broadcast_string(const std::string& text, int root);
  /// One value per rank; the result is the same on every rank.
  double sum_over_ranks(double value);
  std::int64_t sum_over_ranks(std::int64_t value);
  double max_over_ranks(double value);
  std::int64_t max_over_ranks(std::int64_t value);
  double min_over_ranks(double value);
  std::int64_t min_over_ranks(std::int64_t value);
  /// Every rank's value, in rank order.
  std::vector<double> gather_values(double value);
  /// Every rank's text, in rank order.
  std::vector<std::string> gather_strings(const std::string& text);

  /// Ends the step together: if any rank brings an error, every rank throws the same UsageError or
  /// RuntimeError with the lowest such rank's text, which begins "rank r: " unless all ranks brought that
  /// text.
  void agree(const std::optional<std::string>& error, ErrorKind kind = ErrorKind::usage);
  /// Runs work() on every rank and agrees on its errors (UsageError keeps its kind, all else is a
  /// RuntimeError). work() must not call collective operations of this communicator.
  void together(const std::function<void()>& work);
  /// Of an error that every rank throws, this rank prints it.
  bool prints_errors() const { return rank() == 0; }

  // --- reports
  // ---------------------------------------------------------------------------------------------------
  const TransportCounters& counters() const;
  /// Where each rank runs, in rank order. Collective.
  std::vector<Placement> placement();
  /// MPI library and version, in one line.
  std::string mpi_library() const;
  /// Ranks, nodes, staging, limits: one line for the header of a run.
  std::string description() const;

 private:
  std::unique_ptr<CommunicatorState> state_;
};

}  // namespace minigift
