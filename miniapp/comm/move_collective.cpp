// The collectives that only move bytes. The gradient of `count` elements is N parts; an all-gather collects
// one part of each rank, an all-to-all sends part p of every rank to rank p. What travels are pseudo-random
// bytes of the codes' size: every rank can form every other rank's, so every received byte is compared.

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/slice.hpp"
#include "miniapp/comm/collective.hpp"

namespace minigift {
namespace {

constexpr std::int64_t part_unit = 64;  // codes: as the exchange pads its shards

std::int64_t part_bytes(const CommCase& wanted, std::int64_t ranks) {
  const std::int64_t part = (wanted.count + ranks - 1) / ranks;
  return (part + part_unit - 1) / part_unit * part_unit * bytes_per_code(wanted.format);
}

bool gathers(CollectiveChoice collective) {
  return collective == CollectiveChoice::all_gather || collective == CollectiveChoice::mpi_all_gather;
}

class MoveCollective final : public Collective {
 public:
  MoveCollective(const CommCase& wanted, const CollectiveContext& context)
      : case_(wanted),
        context_(context),
        part_(part_bytes(wanted, context.communicator.size())),
        send_("minigift::comm_send",
              static_cast<std::size_t>(gathers(wanted.collective) ? part_
                                                                  : part_ * context.communicator.size())),
        receive_("minigift::comm_receive", static_cast<std::size_t>(part_ * context.communicator.size())) {}

  void prepare(bool) override {
    fill_input_bytes(key_of(context_.communicator.rank()), 0, send_);
    fill(receive_, std::uint8_t{0xA5});
  }

  void run() override {
    Communicator& communicator = context_.communicator;
    switch (case_.collective) {
      case CollectiveChoice::all_gather:
        return communicator.all_gather(send_, receive_, part_).wait();
      case CollectiveChoice::all_to_all:
        return communicator.all_to_all(send_, receive_, part_).wait();
      case CollectiveChoice::mpi_all_gather:
        return context_.plain_mpi.all_gather(send_, receive_);
      case CollectiveChoice::mpi_all_to_all:
        return context_.plain_mpi.all_to_all(send_, receive_);
      default:
        break;
    }
    throw RuntimeError(fmt::format("{} does not only move", name_of(case_.collective)));
  }

  Vector<std::uint8_t> result() const override { return receive_; }

  Comparison compare(bool) override {
    std::int64_t wrong = 0;
    for (int from = 0; from < context_.communicator.size(); ++from) {
      const std::int64_t first = gathers(case_.collective) ? 0 : context_.communicator.rank() * part_;
      wrong += count_wrong_bytes(key_of(from), first, slice(receive_, from * part_, part_));
    }
    return {static_cast<double>(wrong) / static_cast<double>(size(receive_)), 0};
  }

  void damage(FaultPlace place) override { flip_bit(receive_, place_among(place, size(receive_))); }

  std::int64_t bytes() const override { return size(send_) + size(receive_); }

 private:
  PhiloxKey key_of(int rank) const { return input_key(context_.inputs.seed(), rank, InputStream::bytes); }

  CommCase case_;
  CollectiveContext context_;
  std::int64_t part_;
  Vector<std::uint8_t> send_;
  Vector<std::uint8_t> receive_;
};

class MoveFactory final : public CollectiveFactory {
 public:
  MoveFactory(const CommCase& wanted, const CollectiveContext& context) : case_(wanted), context_(context) {}

  std::unique_ptr<Collective> make() override { return std::make_unique<MoveCollective>(case_, context_); }

  std::int64_t wire_bytes() const override {
    const std::int64_t ranks = context_.communicator.size();
    return block_exchange_wire_bytes(ranks, part_bytes(case_, ranks));
  }

 private:
  CommCase case_;
  CollectiveContext context_;
};

}  // namespace

std::unique_ptr<CollectiveFactory> make_move_factory(const CommCase& wanted,
                                                     const CollectiveContext& context) {
  return std::make_unique<MoveFactory>(wanted, context);
}

}  // namespace minigift
