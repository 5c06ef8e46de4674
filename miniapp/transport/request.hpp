#pragma once
// A collective operation in flight.

#include <memory>

namespace minigift {

class Operation;
class CommunicatorState;

/// Returned by the non-blocking operations of Communicator. Move-only.
///
/// The buffers of the operation must stay untouched (and, where they do not own their memory, alive) until
/// wait() returned or test() returned true. On a GPU that means: by anything but work enqueued on the stream
/// that was current when wait() was called. With NCCL wait() does not hold up the host: before the *host*
/// reads a result, or frees memory that a buffer does not own, call Communicator::synchronize(). A request
/// that is destroyed or overwritten unfinished is waited for first, as a future of std::async is; while an
/// exception unwinds the stack it is left in flight, for the program is ending.
class Request {
 public:
  /// An empty request is finished.
  Request() = default;
  Request(std::shared_ptr<Operation> operation, CommunicatorState* state);
  ~Request();
  Request(Request&&) noexcept = default;
  Request& operator=(Request&& other);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// Advances every operation in flight once; returns whether this one has finished. Never blocks.
  /// Throws RuntimeError if MPI reports an error.
  bool test();

  /// Over MPI returns when this operation has finished, advancing the others meanwhile; the watchdog looks
  /// on. With NCCL returns at once. Either way, what is enqueued on the current stream from now on sees the
  /// result.
  void wait();

 private:
  std::shared_ptr<Operation> operation_;
  CommunicatorState* state_ = nullptr;
};

}  // namespace minigift
