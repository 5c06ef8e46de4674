#pragma once
// What a Communicator consists of: the MPI communicators, NCCL's where it is used, the operations in flight,
// the watchdog and the counters.

#include "miniapp/transport/block_exchange.hpp"
#include "miniapp/transport/code_sum.hpp"
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

/// An MPI communicator that returns its errors. Freed with the object, unless an exception is on its way:
/// freeing is collective, and the other ranks may not come.
class OwnedCommunicator {
 public:
  /// A duplicate of `original`.
  explicit OwnedCommunicator(MPI_Comm original);
  /// This rank's part of `whole`: MPI_Comm_split.
  OwnedCommunicator(MPI_Comm whole, int color, int key);
  ~OwnedCommunicator();
  OwnedCommunicator(const OwnedCommunicator&) = delete;
  OwnedCommunicator& operator=(const OwnedCommunicator&) = delete;
  MPI_Comm get() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int exceptions_;
};

/// Communicators that Communicator::split made, of one another, are a family: they share the counters, and
/// whoever waits in one of them advances what is in flight in all.

class CommunicatorState {
 public:
  explicit CommunicatorState(const CommunicatorOptions& options);
  /// See Communicator::split. `parent` must outlive the object.
  CommunicatorState(CommunicatorState& parent, int color, int key, std::string group);
  ~CommunicatorState();
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  int rank() const { return channel_.rank; }
  int size() const { return channel_.size; }
  MPI_Comm mpi() const { return data_.get(); }

  /// Names an operation of this rank and group in messages.
  OperationLabel label(const char* name, std::int64_t sequence, std::int64_t bytes) const {
    return {name, sequence, bytes, members_[static_cast<std::size_t>(rank())], group_};
  }
  /// Number of the operation started last.
  std::int64_t sequence() const { return sequence_; }

  /// Checks the signature, gives the operation its number and tag, and puts it in flight.
  /// make(channel, label, tag) returns a shared_ptr to the operation.
  template <class Make>
  auto start(const Signature& signature, std::int64_t bytes, Traffic traffic, Make&& make) {
    const OperationLabel label = this->label(signature.operation, sequence_ + 1, bytes);
    check_signature(signature, label);
    ++sequence_;
    ++counters().of(traffic).collectives;
    auto operation = std::forward<Make>(make)(channel_, label, static_cast<int>(sequence_ % tag_range_));
    active_.push_back(operation);
    return operation;
  }

  /// Advances everything in flight once, in the whole family.
  void progress() { root_.advance_all(); }
  /// Returns when the operation has finished.
  void wait(Operation& operation);
  /// Finishes everything in flight here.
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

  TransportCounters& counters() { return *channel_.counters; }
  ScratchPool& scratch_pool() { return scratch_pool_; }
  CodeSum& code_sum() { return code_sum_; }
  /// Whether start() compares signatures; the self test runs without.
  void check_signatures(bool on) { checking_ = on; }

 private:
  /// What both ways to make one begin with.
  void open();
  void choose_transport();
  void open_device();
  /// In all of this one and of what was split from it:
  void advance_all();
  const Operation* oldest_on_device() const;
  void check_devices();
  void abort_devices();
  /// While the host waits for the device channel, other than for an operation of ours.
  void poll();
  void check_signature(const Signature& signature, const OperationLabel& label);
  [[noreturn]] void report_mismatch(const Signature& signature, const OperationLabel& label);

  CommunicatorState* parent_ = nullptr;
  CommunicatorState& root_;  // the one that was not split from another
  std::vector<CommunicatorState*> children_;
  std::string group_;         // what these ranks are called; empty: the world
  std::vector<int> members_;  // (size) their ranks in the world

  OwnedCommunicator data_;
  /// Signature checks travel apart: they can then never be mistaken for data of a rank that went ahead.
  OwnedCommunicator checks_;
  TransportCounters counters_;  // of the root; the others use these
  MirrorPool mirror_pool_;
  ScratchPool scratch_pool_;
  CodeSum code_sum_;
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
