#pragma once
// Names a hang and ends it.
//
// A blocking wait registers itself; a thread looks at the oldest registration. When a wait has lasted longer
// than the limit, the thread prints one line for its rank, leaves the other ranks a moment to print theirs,
// and asks the waiting thread, which polls, to abort. The watchdog's own thread calls MPI_Abort only if the
// waiting thread is stuck inside MPI and does not answer.

#include "miniapp/transport/mpi_check.hpp"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace minigift {

class Watchdog {
 public:
  /// seconds: the limit of one blocking wait.
  Watchdog(MPI_Comm communicator, double seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Registers a blocking wait for the lifetime of the object. Waits of one thread do not nest.
  class Wait {
   public:
    Wait(Watchdog& watchdog, const OperationLabel& label);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    /// To be called while polling: aborts the program once the limit has passed.
    void poll() const;

   private:
    Watchdog& watchdog_;
  };

  /// Remembers the operation that finished last, for the message.
  void finished(const OperationLabel& label);

  /// What the waiting thread does before it aborts all ranks. It may hang: then the watchdog's own thread
  /// aborts.
  void before_abort(std::function<void()> action) { before_abort_ = std::move(action); }

 private:
  using Clock = std::chrono::steady_clock;

  void watch();
  void report(double waited) const;

  MPI_Comm communicator_;
  double seconds_;
  std::atomic<bool> expired_ = false;
  std::function<void()> before_abort_;  // of the waiting thread alone

  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  bool stop_ = false;
  bool waiting_ = false;
  Clock::time_point since_;
  OperationLabel current_;
  bool any_finished_ = false;
  OperationLabel last_;

  std::thread thread_;  // last: starts when all else exists
};

}  // namespace minigift
