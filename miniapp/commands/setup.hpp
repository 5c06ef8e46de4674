#pragma once
// What every command does first: deck, communicator, threads.

#include "miniapp/deck/deck.hpp"
#include "miniapp/transport/communicator.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace minigift {

struct Setup {
  Deck deck;
  std::unique_ptr<Communicator> communicator;
  int threads = 1;  ///< of the linear algebra libraries, per rank
};

/// Changes the deck before it is checked, given the number of ranks.
using DeckChange = std::function<void(Deck& deck, int ranks)>;
/// Throws UsageError for a deck that cannot be run: validate, or what a command needs in its place.
using DeckCheck = std::function<void(const Deck& deck, std::int64_t ranks)>;

/// Reads the deck on every rank, checks it and that all ranks have the same, and opens the communicator with
/// the deck's limits and transport. `output` (if not empty) replaces output.directory; `share_gpu` lets
/// several ranks use one GPU. Collective; every error is thrown on all ranks.
Setup set_up(const std::string& deck, const std::vector<std::string>& overrides, const std::string& output,
             bool share_gpu = false, const DeckChange& change = {}, const DeckCheck& check = validate);

/// Throws UsageError unless every method of the deck can run on these ranks and their transport. Not
/// collective, the same on all ranks. Patterns for layers are checked where the tensors are known.
void check_methods(const Deck& deck, const Communicator& communicator);

/// Threads per rank for BLAS and oneDNN: OMP_NUM_THREADS if set; else the cores this process may use, but no
/// more than its share of the machine.
int threads_per_rank(int ranks_on_host);

/// Throws UsageError on all ranks unless `value` is the same everywhere; names the first rank that differs.
void require_same(Communicator& communicator, const std::string& value, const std::string& what,
                  const std::string& mine);

}  // namespace minigift
