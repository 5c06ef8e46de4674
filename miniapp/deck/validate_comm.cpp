// Conditions of [comm], which needs neither a model nor data: only what it reads is checked.

#include "miniapp/deck/checker.hpp"

#include <algorithm>

namespace minigift {
namespace {

template <class T>
bool has_duplicates(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) != values.end();
}

void validate_inject(const InjectDeck& inject, std::int64_t ranks, const Checker& checker) {
  const std::string few = fmt::format("there are only {} rank{}", ranks, ranks == 1 ? "" : "s");
  checker.check(inject.slow_phase.empty(), "inject.slow_phase", "has no meaning here: comm has no phases");
  checker.check(inject.fault == FaultPlace::none || inject.fault_rank < ranks, "inject.fault_rank",
                "inject.fault", few);
  checker.check(inject.hang == HangChoice::none || inject.hang_rank < ranks, "inject.hang_rank",
                "inject.hang", few);
  checker.check(inject.hang == HangChoice::none || ranks > 1, "inject.hang",
                "needs a second rank: one waits for nobody");
}

}  // namespace

void validate_comm(const Deck& deck, std::int64_t ranks) {
  require_usage(ranks >= 1, "number of ranks = {}: must be at least 1", ranks);
  const Checker checker(deck);
  const CommDeck& comm = deck.comm;
  checker.check(comm.minimum_bytes <= comm.maximum_bytes, "comm.minimum_bytes", "comm.maximum_bytes",
                "the smallest size is above the largest");
  checker.check(comm.minimum_bytes % 4 == 0, "comm.minimum_bytes", "is no multiple of 4, the bytes of FP32");
  checker.check(!comm.formats.empty(), "comm.formats", "leaves nothing to measure");
  checker.check(!has_duplicates(comm.formats), "comm.formats", "names a format twice");
  checker.check(!comm.collectives.empty(), "comm.collectives", "leaves nothing to measure");
  checker.check(!has_duplicates(comm.collectives), "comm.collectives", "names a collective twice");
  checker.check(deck.exchange.ranks_per_node == 0 || ranks % deck.exchange.ranks_per_node == 0,
                "exchange.ranks_per_node",
                fmt::format("does not divide the {} rank{}", ranks, ranks == 1 ? "" : "s"));
  validate_inject(deck.inject, ranks, checker);
}

}  // namespace minigift
