#include "miniapp/transport/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace minigift {
namespace {

using Seconds = std::chrono::duration<double>;

/// How long after its own line a rank lets the others print theirs.
constexpr double grace_seconds = 1.0;
/// How long the waiting thread has to abort by itself.
constexpr double answer_seconds = 2.0;

[[noreturn]] void abort_all(MPI_Comm communicator) {
  MPI_Abort(communicator, 1);
  std::_Exit(1);
}

}  // namespace

Watchdog::Watchdog(MPI_Comm communicator, double seconds)
    : communicator_(communicator), seconds_(seconds), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Watchdog::finished(const OperationLabel& label) {
  const std::lock_guard lock(mutex_);
  any_finished_ = true;
  last_ = label;
}

Watchdog::Wait::Wait(Watchdog& watchdog, const OperationLabel& label) : watchdog_(watchdog) {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.waiting_ = true;
  watchdog_.since_ = Clock::now();
  watchdog_.current_ = label;
}

Watchdog::Wait::~Wait() {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.waiting_ = false;
}

void Watchdog::Wait::poll() const {
  if (!watchdog_.expired_.load(std::memory_order_relaxed)) return;
  if (watchdog_.before_abort_) watchdog_.before_abort_();
  abort_all(watchdog_.communicator_);
}

void Watchdog::watch() {
  // Looking ten times per limit finds an overdue wait at most 10 % late.
  const Seconds period(std::clamp(seconds_ / 10.0, 0.01, 1.0));
  std::unique_lock lock(mutex_);
  while (!stop_) {
    wake_.wait_for(lock, period, [this] { return stop_; });
    if (stop_ || !waiting_) continue;
    const double waited = Seconds(Clock::now() - since_).count();
    if (waited < seconds_) continue;
    report(waited);
    wake_.wait_for(lock, Seconds(grace_seconds), [this] { return stop_; });
    expired_ = true;
    lock.unlock();
    std::this_thread::sleep_for(Seconds(answer_seconds));
    abort_all(communicator_);
  }
}

void Watchdog::report(double waited) const {
  std::string line =
      fmt::format("watchdog: rank {} waited {:.3g} s in {} ({} bytes); last finished: ", current_.rank,
                  waited, current_.text(), current_.bytes);
  line += any_finished_ ? last_.text() : "nothing";
  line += "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace minigift
