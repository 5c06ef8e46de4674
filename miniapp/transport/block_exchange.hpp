#pragma once
// all_to_all and all_gather: every rank sends one block to every other rank, directly.
//
// A ring would send the same (N-1) * bytes per rank in the same number of messages, but each of its steps
// needs the rank's attention. With everything posted at the start the library can progress on its own while
// backward computes.

#include "miniapp/transport/operation.hpp"

namespace minigift {

class BlockExchange : public PostedOperation {
 public:
  enum class Memory { host, device };

  /// Block of bytes_per_peer bytes for rank p: send + p * send_stride (stride 0: all get the same block).
  /// Block from rank p: receive + p * bytes_per_peer. Both in `memory`.
  BlockExchange(const Channel& channel, const OperationLabel& label, Traffic traffic, int tag, Memory memory,
                const std::uint8_t* send, std::int64_t send_stride, std::uint8_t* receive,
                std::int64_t bytes_per_peer);
};

}  // namespace minigift
