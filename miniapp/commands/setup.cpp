#include "miniapp/commands/setup.hpp"

#include "kernels/error.hpp"
#include "kernels/linalg/gemm.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/exchange/node_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sched.h>
#include <thread>

namespace minigift {
namespace {

/// Every rank compares its deck with rank 0's.
void require_same_deck(Communicator& communicator, const Deck& deck, const std::string& name) {
  const auto methods = built_in_methods();
  const Deck first = parse_deck(communicator.broadcast_string(to_toml(deck), 0), name, {}, methods);
  std::optional<std::string> error;
  if (const auto difference = first_difference(first, deck)) {
    error = fmt::format("{}: {} is {} here and {} on rank 0; all ranks need the same deck", name,
                        difference->key, difference->second, difference->first);
  }
  communicator.agree(error);
}

}  // namespace

int threads_per_rank(int ranks_on_host) {
  if (const char* set = std::getenv("OMP_NUM_THREADS")) return std::max(1, std::atoi(set));
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const int allowed = sched_getaffinity(0, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : 1;
  const int share = static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, ranks_on_host);
  return std::max(1, std::min(allowed, share));
}

Setup set_up(const std::string& deck, const std::vector<std::string>& overrides, const std::string& output,
             bool share_gpu, const DeckChange& change, const DeckCheck& check) {
  Setup setup;
  const auto methods = built_in_methods();
  {
    // Before the deck is known, with default limits.
    Communicator communicator({.self_test = false, .staging = Staging::host, .share_gpu = share_gpu});
    communicator.together([&] {
      setup.deck = load_deck(deck, overrides, methods);
      if (!output.empty()) setup.deck.output.directory = output;
      if (change) change(setup.deck, communicator.size());
      check(setup.deck, communicator.size());
    });
    require_same_deck(communicator, setup.deck, deck);
  }
  setup.communicator = std::make_unique<Communicator>(
      CommunicatorOptions{.max_message_bytes = setup.deck.exchange.max_message_bytes,
                          .watchdog_seconds = setup.deck.exchange.watchdog_seconds,
                          .staging = staging_from_name(std::string(name_of(setup.deck.exchange.transport))),
                          .share_gpu = share_gpu,
                          .ranks_per_node = static_cast<int>(setup.deck.exchange.ranks_per_node)});
  setup.threads = threads_per_rank(setup.communicator->ranks_on_host());
  set_linalg_threads(setup.threads);
  return setup;
}

void check_methods(const Deck& deck, const Communicator& communicator) {
  for (const MethodDeck& method : deck.methods) {
    const Method resolved = resolve_method(method, deck.exchange, communicator.size());
    if (resolved.reduction == Reduction::hierarchical) even_ranks_per_node(communicator);
    if (resolved.reduction != Reduction::native) continue;
    const auto refusal = communicator.native_all_reduce_refuses(resolved.format);
    require_usage(!refusal,
                  "method {}: {}; use a method with reduction = \"a2a\", or exchange.transport = \"host\"",
                  method.name, refusal.value_or(""));
  }
}

void require_same(Communicator& communicator, const std::string& value, const std::string& what,
                  const std::string& mine) {
  const std::string first = communicator.broadcast_string(value, 0);
  communicator.agree(value == first ? std::nullopt
                                    : std::optional(fmt::format("{} differs from rank 0's: {}", what, mine)));
}

}  // namespace minigift
