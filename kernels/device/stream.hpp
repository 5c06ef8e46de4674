#pragma once
// Where device work is queued, and marks in those queues.
//
// A *stream* is an ordered queue of device work: kernels and copies on one stream run in the order in which
// they were enqueued, those on different streams may run at the same time. Kernels of this folder's
// neighbours take no stream argument: they go to the current one, chosen by a ScopedStream, so that the same
// call serves forward on the compute stream and encode on the exchange's. An *event* marks a place in a
// stream; another stream can be told to wait for it without holding up the host.
//
// On a host backend there is one stream, and the host waits for each kernel, or may as well: create() gives
// the default stream again, wait() has nothing to do, and events only hold the time. On a CUDA backend
// streams are CUDA streams. On other device backends (HIP, SYCL) there is one stream, and recording an event
// waits for it; device_streams() says so.
//
// Nothing here waits for the whole device, and nothing in a step may: use copy, fill and on_host of
// memory.hpp instead of Kokkos::deep_copy, and stream_scratch instead of allocating.

#include "kernels/view.hpp"

#include <memory>

namespace minigift {

/// A handle to a queue; copies name the same one. All must be gone before Kokkos is finalised.
class Stream {
 public:
  /// The default stream.
  Stream() = default;
  /// A stream of its own where the backend has several, else the default one. `urgent`: its kernels go before
  /// those of other streams where the device has room for either.
  static Stream create(bool urgent = false);

  const ExecutionSpace& space() const { return space_; }
  /// 0 for the default stream.
  int id() const { return id_; }
  /// The host waits until all work of this stream has been done.
  void fence() const { space_.fence(); }

 private:
  std::shared_ptr<void> owner_;  ///< ends the queue with the last handle; outlives space_, which uses it
  ExecutionSpace space_;
  int id_ = 0;
};

/// The stream that work goes to.
Stream current_stream();
ExecutionSpace current_space();

/// Work goes to `stream` for the lifetime of the object. One host thread per process launches kernels.
class ScopedStream {
 public:
  explicit ScopedStream(const Stream& stream);
  ~ScopedStream();
  ScopedStream(const ScopedStream&) = delete;
  ScopedStream& operator=(const ScopedStream&) = delete;

 private:
  Stream stream_;
  const Stream* previous_;
};

/// A place in a stream. Copies are the same mark.
class Event {
 public:
  /// Marks the end of what has been enqueued on the current stream. An event may be recorded again.
  void record();
  bool recorded() const { return state_ != nullptr; }
  /// What is enqueued on the current stream from now on waits for the mark. The host does not.
  void wait() const;
  /// Whether the mark has been reached. Does not wait. Throws RuntimeError if the device reports an error.
  bool reached() const;
  /// The host waits for the mark.
  void synchronize() const;

  /// Seconds from one reached mark to another, by the device's clock (resolution about 0.5 us on CUDA).
  static double seconds(const Event& from, const Event& to);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// "one stream" or "CUDA streams: compute and exchange overlap", for the header of a run.
const char* device_streams();

/// `count` iterations on the current stream.
inline Range range(std::int64_t count) {
  return Range(current_space(), 0, count);
}

}  // namespace minigift
