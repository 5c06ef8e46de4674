#pragma once
// A collective in flight: a small state machine. Each call of advance() takes whatever steps are possible
// now.
//
// Its copies and kernels go to the stream that was current when it was made, whoever advances it; the stream
// that is current when its request is waited for then waits for them.

#include "kernels/device/stream.hpp"
#include "miniapp/transport/device_memory_guard.hpp"
#include "miniapp/transport/mpi_check.hpp"
#include "miniapp/transport/staging.hpp"
#include "miniapp/transport/traffic.hpp"

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace minigift {

/// What an operation needs from the communicator it runs on.
struct Channel {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  std::int64_t max_message_bytes = 0;
  TransportCounters* counters = nullptr;
};

class Operation {
 public:
  /// tag separates the messages of operations in flight at the same time.
  Operation(const Channel& channel, const OperationLabel& label, Traffic traffic, int tag);
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Returns whether the operation has finished.
  bool advance();
  bool finished() const { return finished_; }
  const OperationLabel& label() const { return label_; }
  /// Whether all its work is enqueued on streams from the start: those who need the result make their stream
  /// wait and not the host.
  virtual bool stream_ordered() const { return false; }
  /// What is enqueued on the current stream from now on sees the result. The host does not wait.
  void order_current_stream() const { result_.wait(); }
  /// Says that the operation uses device memory, until it has finished. Throws RuntimeError if another
  /// library does.
  void use_device_memory(DeviceMemoryUser user);

 protected:
  /// Takes the steps that are possible now; returns whether none is left.
  virtual bool step() = 0;

  const Channel& channel() const { return channel_; }
  TransportCounters& counters() const { return *channel_.counters; }
  Traffic traffic() const { return traffic_; }
  void check(int code, const char* call) const { check_mpi(code, call, label_); }
  /// Marks the place in the current stream at which the result is there.
  void mark_result() { result_.record(); }
  bool result_reached() const { return result_.reached(); }

  /// One message of at most max_message_bytes, counted.
  MPI_Request send(const std::uint8_t* data, std::int64_t bytes, int to) const;
  MPI_Request receive(std::uint8_t* data, std::int64_t bytes, int from) const;

 private:
  Channel channel_;
  OperationLabel label_;
  Traffic traffic_;
  int tag_;
  bool finished_ = false;
  Stream stream_;
  Event result_;
  DeviceMemoryUse device_memory_;
};

/// An operation that only has to wait for requests posted at its start, and then finish locally.
class PostedOperation : public Operation {
 public:
  using Operation::Operation;

  /// What to do once all requests completed. Also keeps alive what the function holds, such as buffers.
  void on_finish(std::function<void()> finish) { finish_ = std::move(finish); }

 protected:
  bool step() override;
  void post(MPI_Request request) { requests_.push_back(request); }

 private:
  std::vector<MPI_Request> requests_;
  std::function<void()> finish_;
};

}  // namespace minigift
