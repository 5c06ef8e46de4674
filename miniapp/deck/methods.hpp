#pragma once
// From method names and [exchange.NAME] tables to complete methods.

#include "miniapp/deck/deck.hpp"
#include "miniapp/deck/raw_value.hpp"

namespace minigift {

/// All tables of one name, in the order in which they override each other.
struct MethodTables {
  std::string name;
  std::vector<const RawTable*> tables;
  std::string location;  ///< of the first
};

/// Fills deck.methods for deck.exchange.methods. Tables of methods that are not run are checked as well.
void resolve_methods(Deck& deck, const std::vector<MethodTables>& tables,
                     std::span<const MethodDeck> built_in);

}  // namespace minigift
