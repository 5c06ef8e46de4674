#pragma once
// Blocking calls of the MPI library on host memory, as any program would make them: what ours are compared
// with. Buffers are views of host memory; a build for a GPU has none and refuses them (case.hpp).

#include "kernels/view.hpp"
#include "miniapp/transport/communicator.hpp"

#include <mpi.h>

#include <cstdint>

namespace minigift {

class PlainMpi {
 public:
  /// Collective: works on a duplicate of the communicator's.
  explicit PlainMpi(const Communicator& communicator);
  /// Collective, unless an exception is unwinding the stack.
  ~PlainMpi();
  PlainMpi(const PlainMpi&) = delete;
  PlainMpi& operator=(const PlainMpi&) = delete;

  /// values (FP32, in bytes) <- sum over the ranks, in place.
  void all_reduce(const Vector<std::uint8_t>& values) const;
  /// part (1/N of values) <- the sum of that part.
  void reduce_scatter(const Vector<std::uint8_t>& values, const Vector<std::uint8_t>& part) const;
  void all_gather(const Vector<std::uint8_t>& send, const Vector<std::uint8_t>& receive) const;
  void all_to_all(const Vector<std::uint8_t>& send, const Vector<std::uint8_t>& receive) const;

 private:
  int ranks_;
  int exceptions_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace minigift
