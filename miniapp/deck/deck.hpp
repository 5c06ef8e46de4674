#pragma once
// The complete input deck: read, checked, printed, compared.
//
// Values come, later ones winning, from: the member initialisers; the file named by model.deck; the deck
// file; every
// --set in the order given. A method starts from its base's values.
//
// Every error is a UsageError with one line: where (FILE:LINE:COLUMN or the --set), key, value, what is
// allowed, and the nearest valid name.

#include "miniapp/deck/comm_deck.hpp"
#include "miniapp/deck/data_deck.hpp"
#include "miniapp/deck/exchange_deck.hpp"
#include "miniapp/deck/inject_deck.hpp"
#include "miniapp/deck/method_deck.hpp"
#include "miniapp/deck/model_deck.hpp"
#include "miniapp/deck/optimizer_deck.hpp"
#include "miniapp/deck/output_deck.hpp"
#include "miniapp/deck/step_deck.hpp"
#include "miniapp/deck/trace_deck.hpp"
#include "miniapp/deck/train_deck.hpp"

#include <map>
#include <span>

namespace minigift {

struct Deck {
  ModelDeck model;
  DataDeck data;
  TrainDeck train;
  OptimizerDeck optimizer;
  ExchangeDeck exchange;
  StepDeck step;
  CommDeck comm;
  InjectDeck inject;
  TraceDeck trace;
  OutputDeck output;
  std::vector<MethodDeck> methods;  ///< one per name in exchange.methods, same order, complete
  std::map<std::string, std::string>
      origins;  ///< key -> where it was set; keys left at their default are absent

  /// Calls visit(name, section) for every fixed section.
  template <class Self, class Visitor>
  static void sections(Self& self, Visitor&& visit) {
    visit("model", self.model);
    visit("data", self.data);
    visit("train", self.train);
    visit("optimizer", self.optimizer);
    visit("exchange", self.exchange);
    visit("step", self.step);
    visit("comm", self.comm);
    visit("inject", self.inject);
    visit("trace", self.trace);
    visit("output", self.output);
  }
};

/// Reads the deck file `path`. `overrides` are the words after each --set: "section.key=value", value in TOML
/// or a bare word. `built_in` are the methods that need no table.
Deck load_deck(const std::string& path, const std::vector<std::string>& overrides,
               std::span<const MethodDeck> built_in);

/// The same from text. `file` is the name used in errors; model decks are looked up beside it.
Deck parse_deck(std::string_view toml, const std::string& file, const std::vector<std::string>& overrides,
                std::span<const MethodDeck> built_in);

/// Conditions between keys, and with the number of ranks. Throws UsageError naming both keys and their
/// values.
void validate(const Deck& deck, std::int64_t ranks);

/// The same for a run of [comm], which has neither a model nor data: only the sections that it reads are
/// checked.
void validate_comm(const Deck& deck, std::int64_t ranks);

/// One effective value: "train.steps", "100" (in TOML).
struct DeckValue {
  std::string key;
  std::string value;
};
/// Every value of the effective deck, sections and keys in their declared order.
std::vector<DeckValue> effective_values(const Deck& deck);

/// The effective deck as TOML that parses back to the same deck.
std::string to_toml(const Deck& deck);
/// The effective deck for people: aligned, with units; values that were set are marked.
std::string to_text(const Deck& deck);
/// 64-bit hash of the effective values.
std::uint64_t hash(const Deck& deck);

struct DeckDifference {
  std::string key;
  std::string first;
  std::string second;
};
/// The first key in which two decks differ, or nothing; a value that one deck lacks is shown as "(absent)".
std::optional<DeckDifference> first_difference(const Deck& first, const Deck& second);

/// Every key with type, default, allowed values, unit and help: as text for --help, and as Markdown for the
/// docs.
std::string deck_help(std::span<const MethodDeck> built_in);
std::string deck_markdown(std::span<const MethodDeck> built_in);

/// " (nearest: 'steps')" for the candidate with the smallest edit distance, or "" when none is near.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace minigift
