#include "miniapp/data/token_source.hpp"

#include "miniapp/data/synthetic_source.hpp"
#include "miniapp/data/text_source.hpp"

#include <algorithm>
#include <cmath>

namespace minigift {

std::int64_t train_tokens(std::int64_t total, double validation_fraction) {
  const auto validation =
      static_cast<std::int64_t>(std::llround(static_cast<double>(total) * validation_fraction));
  return total - std::clamp<std::int64_t>(validation, 1, std::max<std::int64_t>(total, 1));
}

std::unique_ptr<TokenSource> open_token_source(const DataDeck& deck, std::int64_t vocabulary) {
  if (deck.source == DataSource::text) return std::make_unique<TextSource>(deck, vocabulary);
  return std::make_unique<SyntheticSource>(deck, vocabulary);
}

}  // namespace minigift
