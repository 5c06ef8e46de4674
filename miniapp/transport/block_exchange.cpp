#include "miniapp/transport/block_exchange.hpp"

#include "kernels/device/memory.hpp"

#include <algorithm>
#include <cstring>

namespace minigift {
namespace {

void copy_block(BlockExchange::Memory memory, std::uint8_t* to, const std::uint8_t* from,
                std::int64_t bytes) {
  const auto count = static_cast<std::size_t>(bytes);
  if (memory == BlockExchange::Memory::host) {
    std::memcpy(to, from, count);
  } else {
    copy(Vector<std::uint8_t>(to, count), Vector<const std::uint8_t>(from, count));
  }
}

}  // namespace

BlockExchange::BlockExchange(const Channel& channel, const OperationLabel& label, Traffic traffic, int tag,
                             Memory memory, const std::uint8_t* send, std::int64_t send_stride,
                             std::uint8_t* receive, std::int64_t bytes_per_peer)
    : PostedOperation(channel, label, traffic, tag) {
  if (memory == Memory::device) use_device_memory(DeviceMemoryUser::mpi);
  if (bytes_per_peer == 0) return;
  const int rank = channel.rank;
  const int size = channel.size;
  const std::int64_t piece = channel.max_message_bytes;
  // Distance d: send to rank + d, receive from rank - d, so that no rank is everyone's first target. The
  // pieces of one pair share a tag; MPI keeps their order. Receives first: a message that finds its receive
  // posted needs no copy.
  for (int d = 1; d < size; ++d) {
    const int from = (rank - d + size) % size;
    std::uint8_t* block = receive + from * bytes_per_peer;
    for (std::int64_t offset = 0; offset < bytes_per_peer; offset += piece) {
      post(this->receive(block + offset, std::min(piece, bytes_per_peer - offset), from));
    }
  }
  for (int d = 1; d < size; ++d) {
    const int to = (rank + d) % size;
    const std::uint8_t* block = send + to * send_stride;
    for (std::int64_t offset = 0; offset < bytes_per_peer; offset += piece) {
      post(this->send(block + offset, std::min(piece, bytes_per_peer - offset), to));
    }
  }
  const std::uint8_t* own = send + rank * send_stride;
  std::uint8_t* own_place = receive + rank * bytes_per_peer;
  if (own != own_place) copy_block(memory, own_place, own, bytes_per_peer);
}

}  // namespace minigift
