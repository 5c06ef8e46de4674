#pragma once
// The deck's values as the types of the parts that take them.

#include "miniapp/deck/deck.hpp"
#include "miniapp/exchange/codec_exchange.hpp"
#include "miniapp/model/llama.hpp"

namespace minigift {

/// [model]
LlamaShape llama_shape(const ModelDeck& deck);
/// [train] and [model]: batch, products, recomputation.
LlamaOptions llama_options(const Deck& deck);
/// [exchange], with the seed of [train].
ExchangeOptions exchange_options(const Deck& deck);

/// Throws UsageError if the deck asks for matrix products that this build cannot do.
void check_products_available(const Deck& deck);

}  // namespace minigift
