#pragma once
// What a Communicator consists of: the MPI communicators, NCCL's where it is used, the operations in flight,
// the watchdog and the counters.

#include "miniapp/transport/block_exchange.hpp"
#include "miniapp/transport/communicator.hpp"
#include "miniapp/transport/device_channel.hpp"
#include "miniapp/transport/gpu.hpp"
#include "miniapp/transport/library_operation.hpp"
#include "miniapp/transport/mirror_pool.hpp"
#include "miniapp/transport/node.hpp"
#include "miniapp/transport/ring_all_reduce.hpp"
#include "miniapp/transport/signature.hpp"
#include "miniapp/transport/watchdog.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace minigift {

/// A duplicate of MPI_COMM_WORLD that returns its errors. Freed with the object, unless an exception is on
/// its way: freeing is collective, and the other ranks may not come.
class OwnedCommunicator {
 public:
  OwnedCommunicator();
  ~OwnedCommunicator();
  OwnedCommunicator(const OwnedCommunicator&) = delete;
  OwnedCommunicator& operator=(const OwnedCommunicator&) = delete;
  MPI_Comm get() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int exceptions_;
};

class CommunicatorState {
 public:
  explicit CommunicatorState(const CommunicatorOptions& options);
  ~CommunicatorState();
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  int rank() const { return channel_.rank; }
  int size() const { return channel_.size; }
  MPI_Comm mpi() const { return data_.get(); }

  /// Checks the signature, gives the operation its number and tag, and puts it in flight.
  /// make(channel, label, tag) returns a shared_ptr to the operation.
  template <class Make>
  auto start(const Signature& signature, std::int64_t bytes, Traffic traffic, Make&& make) {
    const OperationLabel label{signature.operation, sequence_ + 1, bytes, rank()};
    check_signature(signature, label);
    ++sequence_;
    ++counters_.of(traffic).collectives;
    auto operation = std::forward<Make>(make)(channel_, label, static_cast<int>(sequence_ % tag_range_));
    active_.push_back(operation);
    return operation;
  }

  /// Advances everything in flight once.
  void progress();
  /// Returns when the operation has finished.
  void wait(Operation& operation);
  /// Finishes everything in flight.
  void wait_all();
  /// The host waits until all work of the current stream has been done. The watchdog looks on.
  void synchronize();

  /// The watchdog looks on for the lifetime of the object, while the host waits for the device channel.
  class Watched {
   public:
    Watched(CommunicatorState& state, const OperationLabel& label);
    ~Watched();
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

   private:
    CommunicatorState& state_;
  };

  const CommunicatorOptions options;
  NodeTopology node;
  std::vector<RankDevice> devices;  ///< of all ranks; empty on a host build
  StagingFacts staging_facts;
  StagingChoice staging;

  /// Collectives on the device; null where they go over MPI.
  DeviceChannel* device() const { return device_.get(); }
  /// Puts a channel in the place of the one the options gave: for tests.
  void replace_device(std::unique_ptr<DeviceChannel> device);
  /// Host memory for StagedBuffer where MPI sends and receives point to point; null: it takes device memory.
  MirrorPool* mirrors() { return takes_device_memory() ? nullptr : &mirror_pool_; }
  /// The same where it reduces or broadcasts: always host memory.
  MirrorPool* host_mirrors() { return &mirror_pool_; }
  /// Whether MPI sends and receives point to point in device memory.
  bool takes_device_memory() const { return staging.staging == Staging::direct; }

  TransportCounters& counters() { return counters_; }
  ScratchPool& scratch_pool() { return scratch_pool_; }
  /// Whether start() compares signatures; the self test runs without.
  void check_signatures(bool on) { checking_ = on; }

 private:
  void choose_transport();
  /// While the host waits for the device channel, other than for an operation of ours.
  void poll();
  void check_signature(const Signature& signature, const OperationLabel& label);
  [[noreturn]] void report_mismatch(const Signature& signature, const OperationLabel& label);

  OwnedCommunicator data_;
  /// Signature checks travel apart: they can then never be mistaken for data of a rank that went ahead.
  OwnedCommunicator checks_;
  TransportCounters counters_;
  MirrorPool mirror_pool_;
  ScratchPool scratch_pool_;
  Channel channel_;
  Channel check_channel_;
  std::int64_t tag_range_ = 1;
  std::int64_t sequence_ = 0;
  /// A waiting rank offers its core to others after so many looks: at each where ranks outnumber cores, for
  /// then the one waited for may need it; else after about a millisecond.
  std::int64_t looks_per_yield_ = 1;
  bool checking_ = false;
  std::unordered_set<std::uint64_t> agreed_signatures_;
  std::vector<std::shared_ptr<Operation>> active_;
  std::optional<Watchdog> watchdog_;  // absent on one rank, which waits for nobody
  std::optional<Watchdog::Wait> device_wait_;
  std::unique_ptr<DeviceChannel> device_;
};

}  // namespace minigift
