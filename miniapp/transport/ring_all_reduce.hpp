#pragma once
// native_all_reduce and native_reduce_scatter: the sum of codes, rounded to the format at every hop, as a
// pipelined ring.
//
// The buffer is N chunks. An all-reduce has 2(N-1) steps. In step k, rank r
//   sends    chunk (r - k)     mod N  to   rank r + 1,
//   receives chunk (r - k - 1) mod N  from rank r - 1.
// For k < N-1 (reduce-scatter) the received chunk is added to the own one: own <- round(received + own).
// After that, rank r holds the complete chunk r + 1. For k >= N-1 (all-gather) the received chunk replaces
// the own one. Chunk c therefore starts at rank c and collects ranks c+1, c+2, ..., c+N-1 in this order. (P.
// Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.)
//
// A reduce-scatter ends after N-1 steps. All chunks are shifted by one: rank r sends (r - k - 1) mod N and
// receives (r - k - 2) mod N, so that it ends with its own chunk r, which started at rank r + 1 and met r
// last.
//
// A chunk travels in pieces. The sequence of pieces sent by a rank is numbered j = k * pieces + piece; the
// neighbour receives them in the same order. Piece j may be sent once piece j - pieces was received and
// added. While one piece is added, the next ones are under way: `window` of them in each direction.

#include "kernels/format/format.hpp"
#include "miniapp/transport/operation.hpp"
#include "miniapp/transport/scratch_pool.hpp"

#include <array>

namespace minigift {

enum class RingPhases { reduce_scatter, all_reduce };

class RingAllReduce : public Operation {
 public:
  /// codes: N equal chunks of whole codes. pipeline_bytes: wanted size of a piece. mirrors: as those of
  /// codes.
  RingAllReduce(const Channel& channel, const OperationLabel& label, Traffic traffic, int tag,
                RingPhases phases, Format format, const StagedBuffer<std::uint8_t>& codes,
                std::int64_t pipeline_bytes, ScratchPool& scratch_pool, MirrorPool* mirrors);

 protected:
  bool step() override;

 private:
  static constexpr int window = 4;

  struct Place {
    std::int64_t offset;  ///< [B] within codes
    std::int64_t bytes;
  };

  std::int64_t step_of(std::int64_t j) const { return j / pieces_; }
  bool adds(std::int64_t j) const { return step_of(j) < channel().size - 1; }
  Place place(std::int64_t j, int chunk_shift) const;
  Place sent_place(std::int64_t j) const { return place(j, first_shift_); }
  Place received_place(std::int64_t j) const { return place(j, first_shift_ + 1); }
  std::uint8_t* scratch_slot(std::int64_t j) const;

  bool complete_send();
  bool post_send();
  bool complete_receive();
  bool post_receive();

  int first_shift_;  ///< in step 0 rank r sends chunk r - first_shift_
  Format format_;
  StagedBuffer<std::uint8_t> codes_;
  ScratchPool& scratch_pool_;
  StagedBuffer<std::uint8_t> scratch_;  ///< `window` pieces
  std::int64_t chunk_bytes_ = 0;
  std::int64_t piece_bytes_ = 0;
  std::int64_t pieces_ = 0;  ///< of one chunk
  std::int64_t total_ = 0;   ///< steps * pieces

  // 0 <= finished_* <= posted_* <= total_, posted_* - finished_* <= window
  std::int64_t posted_sends_ = 0;
  std::int64_t finished_sends_ = 0;
  std::int64_t posted_receives_ = 0;
  std::int64_t finished_receives_ = 0;
  std::array<MPI_Request, window> sends_;
  std::array<MPI_Request, window> receives_;
};

}  // namespace minigift
