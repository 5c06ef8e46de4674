#pragma once
// Collectives of the MPI library, non-blocking, in pieces below the message limit.

#include "miniapp/transport/operation.hpp"

namespace minigift {

class LibraryOperation : public PostedOperation {
 public:
  using PostedOperation::PostedOperation;

  // Each posts all its pieces at once: MPI pairs collectives by the order of their start, so a piece must not
  // wait for a state that other ranks reach at another time.

  /// values (count elements of element_bytes each, host memory) <- reduction over the ranks.
  void all_reduce(void* values, std::int64_t count, std::int64_t element_bytes, MPI_Datatype type,
                  MPI_Op reduction);
  void broadcast(std::uint8_t* data, std::int64_t bytes, int root);
  void barrier();
  /// receive (N * bytes) <- send (bytes, at most one message) of all ranks.
  void all_gather(const char* send, char* receive, int bytes);

 private:
  void charge(std::int64_t bytes, std::int64_t messages) const;
};

}  // namespace minigift
