#pragma once
// Collective operations over MPI ranks on bytes and floats. Knows no gradient.
//
// Non-blocking operations return a Request. Several may be in flight at once and may be waited for in any
// order; they advance whenever progress(), Request::test() or any blocking call runs. All ranks must START
// the same operations in the same order: the order is the sequence number that pairs them.
//
// On a GPU, operations take their input as the work enqueued so far on the current stream leaves it
// (kernels/device/stream.hpp), and Request::wait() makes the then current stream wait for the result. Staging
// says whether MPI or NCCL does the work. With NCCL the host waits in synchronize() alone.
//
// N is the number of ranks, bytes the size of the buffer on one rank. With latency a and time per byte b of a
// link the operations cost
//   native_all_reduce      2(N-1) a + 2 (N-1)/N bytes b
//   native_reduce_scatter  (N-1) a + (N-1)/N bytes b
//   all_to_all             (N-1) a + (N-1) bytes_per_peer b
//   all_gather             (N-1) a + (N-1) bytes b
// (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH",
// 2005).

#include "kernels/format/format.hpp"
#include "kernels/view.hpp"
#include "miniapp/transport/gpu.hpp"
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
  /// No message of MPI is larger than this [B]; larger buffers travel in pieces. At least 8, below 2^31.
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
  /// Who moves arrays of device memory, and how. On a host build automatic and host are the same.
  Staging staging = Staging::automatic;
  /// Let several ranks use one GPU, to try things out: without NCCL. MINIGIFT_SHARE_GPU=1 does the same.
  bool share_gpu = false;
  /// To try out on one machine what is for several: ranks r with the same r / ranks_per_node count as a node.
  /// Must divide the number of ranks. 0: ranks that share memory, as it is.
  int ranks_per_node = 0;
};

/// Where a rank runs, for reports.
struct Placement {
  std::string host;
  std::int64_t process = 0;
  std::string cores;  ///< the CPU cores the process may use, as "0-3,8"
  DeviceInfo device;  ///< index -1 on a host build
};

enum class ErrorKind { runtime, usage };

class Communicator {
 public:
  /// Collective over MPI_COMM_WORLD, which must be initialised; works on duplicates of it.
  /// Throws UsageError for options out of range, a world that the launcher did not start (launcher.hpp), a
  /// staging that cannot be, or two ranks on one GPU; RuntimeError if the self test finds a wrong result.
  explicit Communicator(const CommunicatorOptions& options = {});
  /// On a state made elsewhere, with its options: for tests.
  explicit Communicator(std::unique_ptr<CommunicatorState> state);
  /// Collective, unless an exception is unwinding the stack.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;
  /// Ranks that share memory form a node, unless CommunicatorOptions::ranks_per_node says otherwise.
  /// node_rank() counts 0 .. ranks_on_node() - 1 within it, node_index() 0 .. node_count() - 1 the nodes, in
  /// the order of their lowest ranks.
  int node_rank() const;
  int ranks_on_node() const;
  int node_index() const;
  int node_count() const;
  /// Index of each rank's node, in rank order.
  const std::vector<int>& nodes() const;
  /// Ranks that share memory, and so the cores of a machine, with this one, whatever counts as a node.
  int ranks_on_host() const;

  /// A communicator of the ranks that give the same `color` (0 or more), in the order of `key` and, where
  /// that is the same, of rank. Collective. It has this one's options and staging, operations in flight and a
  /// watchdog of its own; `group` names it in messages, where ranks keep their numbers in the world. What it
  /// sends is counted here: both have the same counters. This one must outlive it.
  ///
  /// Every group pairs its own operations. A rank that belongs to several starts theirs in an order in which
  /// no two ranks wait for each other: all ranks in that of one program is enough.
  std::unique_ptr<Communicator> split(int color, int key, const std::string& group);

  // --- non-blocking
  // ----------------------------------------------------------------------------------------------
  /// values <- element-wise maximum over the ranks. A NaN counts as +infinity, so that it cannot get lost.
  Request all_reduce_max(const Vector<float>& values, Traffic traffic = Traffic::metadata);

  /// values <- element-wise sum over the ranks, in the values' own precision, by the MPI library or NCCL:
  /// identical bits on every rank, in an order of addition that the library chooses (and may choose by
  /// message size).
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
  ///
  /// With NCCL the order, and with it the number of roundings behind each other, is NCCL's: a ring adds N
  /// ranks one after the other, a tree in pairs, and NCCL chooses by N and size unless NCCL_ALGO says so;
  /// device_library() records it. FP8 needs GPUs of compute capability 9.0: UsageError otherwise, on all
  /// ranks.
  Request native_all_reduce(Format format, const Vector<std::uint8_t>& codes,
                            Traffic traffic = Traffic::payload);

  /// The first half of native_all_reduce: afterwards part `rank` of codes, the rank-th of N equal parts,
  /// holds the sum of these parts, and the others hold nothing of use. codes as for native_all_reduce.
  ///
  /// Order of addition: part c is
  ///   ((x_{c+1} + x_{c+2}) + ...) + x_{c+N},   indices of ranks mod N, rounded after each +,
  /// so that the part's owner comes last (in native_all_reduce it comes first). Serial form:
  /// kernels/reference/native_all_reduce.hpp. Wire bytes per rank: (N-1)/N * size(codes), exactly. With NCCL
  /// as native_all_reduce.
  Request native_reduce_scatter(Format format, const Vector<std::uint8_t>& codes,
                                Traffic traffic = Traffic::payload);

  /// Sum of codes by the collective library itself, for comparison: by MPI with MPI_SUM (fp32) or an
  /// operation of ours that adds two codes and rounds (bf16, e4m3, e5m2; code_sum.hpp), always on host
  /// memory; with NCCL the same as native_all_reduce. Identical bytes on every rank, in an order of addition
  /// that the library chooses. codes: whole codes, any number. Charged as 2 (N-1)/N * size(codes) wire bytes.
  Request library_all_reduce(Format format, const Vector<std::uint8_t>& codes,
                             Traffic traffic = Traffic::payload);

  /// Rank r's part p of send (N * bytes_per_peer) becomes part r of rank p's receive (the same size).
  /// Wire bytes per rank: (N-1) * bytes_per_peer. The two buffers must not overlap.
  Request all_to_all(const Vector<const std::uint8_t>& send, const Vector<std::uint8_t>& receive,
                     std::int64_t bytes_per_peer, Traffic traffic = Traffic::payload);

  /// receive (N * bytes) <- the send buffers (bytes) of all ranks, in rank order. send may be this rank's own
  /// part of receive. Wire bytes per rank: (N-1) * bytes.
  Request all_gather(const Vector<const std::uint8_t>& send, const Vector<std::uint8_t>& receive,
                     std::int64_t bytes, Traffic traffic = Traffic::payload);

  /// Why native_all_reduce (and the two after it) cannot add codes of this format here, the same on all
  /// ranks; empty: it can.
  std::optional<std::string> native_all_reduce_refuses(Format format) const;

  /// Advances everything in flight, in split communicators too. Cheap when nothing is.
  void progress();

  // --- blocking
  // --------------------------------------------------------------------------------------------------
  /// The host waits until all work of the current stream has been done, results of waited-for requests
  /// included. To be called before the host reads a result. With NCCL the watchdog looks on, and errors of
  /// other ranks are met here (RuntimeError). Not collective.
  void synchronize();
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
  /// NCCL's version, and the settings on which its sums depend, in one line; empty where it is not used.
  std::string device_library() const;
  /// The choice that was made among the options' possibilities; never automatic.
  Staging staging() const;
  /// Ranks, nodes, staging and why, limits: one line for the header of a run.
  std::string description() const;

  /// For mpi_handle.hpp.
  const CommunicatorState& state() const { return *state_; }

 private:
  std::unique_ptr<CommunicatorState> state_;
};

}  // namespace minigift
