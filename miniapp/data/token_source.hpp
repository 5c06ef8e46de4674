#pragma once
// Where tokens come from. A source is a fixed string of tokens; its last part is held out for validation.

#include "miniapp/deck/data_deck.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace minigift {

enum class Split { train, validation };

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  /// Number of tokens of a split.
  virtual std::int64_t tokens(Split split) const = 0;
  /// Writes tokens [position, position + out.size()) of a split. Throws RuntimeError outside of it.
  virtual void read(Split split, std::int64_t position, std::span<std::int32_t> out) const = 0;
  /// Every token is below this.
  virtual std::int64_t vocabulary() const = 0;
  /// Hash of everything the tokens depend on, to compare across ranks and to store in results.
  virtual std::uint64_t content_hash() const = 0;
  /// One line for people: kind, name, sizes.
  virtual std::string description() const = 0;
};

/// Opens the source a deck asks for. Throws UsageError: file missing, unreadable, empty; a token of
/// `vocabulary` or more, with file and offset.
std::unique_ptr<TokenSource> open_token_source(const DataDeck& deck, std::int64_t vocabulary);

/// Tokens before validation starts when `total` tokens are split: total - max(1, round(total * fraction)).
std::int64_t train_tokens(std::int64_t total, double validation_fraction);

}  // namespace minigift
