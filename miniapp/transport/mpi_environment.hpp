#pragma once
// MPI_Init and MPI_Finalize as the lifetime of an object.

namespace minigift {

/// Initialises MPI (thread level funneled: only the main thread calls MPI; the watchdog's thread does so only
/// to abort) and finalises it. If it is destroyed by an exception on its way out, the other ranks may be
/// waiting for this one, so it prints one line and aborts them all with status 1. (Such an exception must
/// have a handler in main: without one C++ need not unwind the stack.)
class MpiEnvironment {
 public:
  /// Throws RuntimeError if MPI cannot start.
  MpiEnvironment(int& argc, char**& argv);
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;

  /// Ends all ranks at once with this exit status: for an error that only this rank knows of.
  [[noreturn]] static void abort(int status);

 private:
  int exceptions_;
};

}  // namespace minigift
