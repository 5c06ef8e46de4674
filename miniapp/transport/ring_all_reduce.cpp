#include "miniapp/transport/ring_all_reduce.hpp"

#include "kernels/format/quantize.hpp"  // native_add

#include <algorithm>

namespace minigift {
namespace {

/// Pieces start on multiples of this, where the limits leave room, so that kernels see aligned data.
constexpr std::int64_t alignment = 64;

std::int64_t whole_piece(std::int64_t wanted, std::int64_t limit, std::int64_t code_bytes) {
  const std::int64_t bytes = std::min(wanted, limit);
  if (bytes >= alignment) return bytes / alignment * alignment;
  return std::max(bytes / code_bytes, std::int64_t{1}) * code_bytes;
}

}  // namespace

RingAllReduce::RingAllReduce(const Channel& channel, const OperationLabel& label, Traffic traffic, int tag,
                             RingPhases phases, Format format, const StagedBuffer<std::uint8_t>& codes,
                             std::int64_t pipeline_bytes, ScratchPool& scratch_pool, MirrorPool* mirrors)
    : Operation(channel, label, traffic, tag),
      first_shift_(phases == RingPhases::reduce_scatter ? 1 : 0),
      format_(format),
      codes_(codes),
      scratch_pool_(scratch_pool) {
  sends_.fill(MPI_REQUEST_NULL);
  receives_.fill(MPI_REQUEST_NULL);
  const std::int64_t steps = (phases == RingPhases::all_reduce ? 2 : 1) * (channel.size - 1);
  chunk_bytes_ = size(codes.array()) / channel.size;
  if (steps == 0 || chunk_bytes_ == 0) return;
  piece_bytes_ = whole_piece(pipeline_bytes, channel.max_message_bytes, bytes_per_code(format));
  piece_bytes_ = std::min(piece_bytes_, chunk_bytes_);
  pieces_ = (chunk_bytes_ + piece_bytes_ - 1) / piece_bytes_;
  total_ = steps * pieces_;
  scratch_ = scratch_pool_.take(window * piece_bytes_, mirrors);
}

RingAllReduce::Place RingAllReduce::place(std::int64_t j, int chunk_shift) const {
  const std::int64_t ranks = channel().size;
  // step_of(j) + chunk_shift <= 2N - 2 (a reduce-scatter: N), so that adding 2N keeps the dividend positive.
  const std::int64_t chunk = (channel().rank - step_of(j) - chunk_shift + 2 * ranks) % ranks;
  const std::int64_t within = (j % pieces_) * piece_bytes_;
  return {chunk * chunk_bytes_ + within, std::min(piece_bytes_, chunk_bytes_ - within)};
}

std::uint8_t* RingAllReduce::scratch_slot(std::int64_t j) const {
  return scratch_.mpi_data() + (j % window) * piece_bytes_;
}

bool RingAllReduce::complete_send() {
  if (finished_sends_ == posted_sends_) return false;
  int done = 0;
  check(MPI_Test(&sends_[static_cast<std::size_t>(finished_sends_ % window)], &done, MPI_STATUS_IGNORE),
        "MPI_Test");
  if (done == 0) return false;
  ++finished_sends_;
  return true;
}

bool RingAllReduce::post_send() {
  const std::int64_t j = posted_sends_;
  if (j == total_ || j - finished_sends_ == window) return false;
  if (j >= pieces_ && finished_receives_ <= j - pieces_) return false;
  const Place from = sent_place(j);
  // Up to step N-1 a kernel wrote what is sent; after that it came from the neighbour and is where MPI put
  // it.
  if (step_of(j) < channel().size) codes_.to_mpi(from.offset, from.bytes, counters());
  const int to = (channel().rank + 1) % channel().size;
  sends_[static_cast<std::size_t>(j % window)] = send(codes_.mpi_data() + from.offset, from.bytes, to);
  ++posted_sends_;
  return true;
}

bool RingAllReduce::complete_receive() {
  const std::int64_t j = finished_receives_;
  if (j == posted_receives_) return false;
  int done = 0;
  check(MPI_Test(&receives_[static_cast<std::size_t>(j % window)], &done, MPI_STATUS_IGNORE), "MPI_Test");
  if (done == 0) return false;
  const Place to = received_place(j);
  if (adds(j)) {
    const std::int64_t slot = (j % window) * piece_bytes_;
    scratch_.from_mpi(slot, to.bytes, counters());
    native_add(format_, scratch_.range(slot, to.bytes), codes_.range(to.offset, to.bytes));
    scratch_.before_overwrite();  // the slot's next receive
  } else {
    codes_.from_mpi(to.offset, to.bytes, counters());
  }
  ++finished_receives_;
  return true;
}

bool RingAllReduce::post_receive() {
  const std::int64_t j = posted_receives_;
  if (j == total_ || j - finished_receives_ == window) return false;
  const Place to = received_place(j);
  std::uint8_t* data = adds(j) ? scratch_slot(j) : codes_.mpi_data() + to.offset;
  // The all-gather overwrites what was sent N-1 steps ago: MPI must have let go of it.
  if (!adds(j) && finished_sends_ <= j - (channel().size - 1) * pieces_) return false;
  const int from = (channel().rank - 1 + channel().size) % channel().size;
  receives_[static_cast<std::size_t>(j % window)] = receive(data, to.bytes, from);
  ++posted_receives_;
  return true;
}

bool RingAllReduce::step() {
  bool moved = true;
  while (moved) {
    // Receives before sends, so that a neighbour's message finds its receive posted.
    moved = complete_send();
    while (post_receive())
      moved = true;
    while (post_send())
      moved = true;
    moved = complete_receive() || moved;
  }
  if (finished_receives_ < total_ || finished_sends_ < total_) return false;
  if (total_ > 0) scratch_pool_.give_back(std::move(scratch_));
  return true;
}

}  // namespace minigift
