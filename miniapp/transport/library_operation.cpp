#include "miniapp/transport/library_operation.hpp"

#include <algorithm>

namespace minigift {

void LibraryOperation::charge(std::int64_t bytes, std::int64_t messages) const {
  TrafficCounters& count = counters().of(traffic());
  count.bytes_sent += bytes;
  count.messages += messages;
}

void LibraryOperation::all_reduce(void* values, std::int64_t count, std::int64_t element_bytes,
                                  MPI_Datatype type, MPI_Op reduction) {
  if (channel().size == 1) return;
  auto* bytes = static_cast<std::uint8_t*>(values);
  const std::int64_t piece = channel().max_message_bytes / element_bytes;
  std::int64_t pieces = 0;
  for (std::int64_t offset = 0; offset < count; offset += piece, ++pieces) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(MPI_IN_PLACE, bytes + offset * element_bytes,
                         static_cast<int>(std::min(piece, count - offset)), type, reduction,
                         channel().communicator, &request),
          "MPI_Iallreduce");
    post(request);
  }
  charge(all_reduce_wire_bytes(channel().size, count * element_bytes), pieces);
}

void LibraryOperation::broadcast(std::uint8_t* data, std::int64_t bytes, int root) {
  if (channel().size == 1) return;
  const std::int64_t piece = channel().max_message_bytes;
  std::int64_t pieces = 0;
  for (std::int64_t offset = 0; offset < bytes; offset += piece, ++pieces) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(data + offset, static_cast<int>(std::min(piece, bytes - offset)), MPI_BYTE, root,
                     channel().communicator, &request),
          "MPI_Ibcast");
    post(request);
  }
  charge(broadcast_wire_bytes(channel().size, bytes), pieces);
}

void LibraryOperation::barrier() {
  if (channel().size == 1) return;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(channel().communicator, &request), "MPI_Ibarrier");
  post(request);
  charge(0, 1);
}

void LibraryOperation::all_gather(const char* send, char* receive, int bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(send, bytes, MPI_CHAR, receive, bytes, MPI_CHAR, channel().communicator, &request),
        "MPI_Iallgather");
  post(request);
  charge(block_exchange_wire_bytes(channel().size, bytes), 1);
}

}  // namespace minigift
