#include "miniapp/train/deck_options.hpp"

#include "kernels/linalg/gemm.hpp"

namespace minigift {
namespace {

Compute compute_of(ComputeChoice choice) {
  switch (choice) {
    case ComputeChoice::fp32:
      break;
    case ComputeChoice::tf32:
      return Compute::tf32;
    case ComputeChoice::bf16:
      return Compute::bf16;
  }
  return Compute::fp32;
}

}  // namespace

LlamaShape llama_shape(const ModelDeck& deck) {
  return {.layers = deck.layers,
          .hidden = deck.hidden,
          .heads = deck.heads,
          .kv_heads = deck.kv_heads,
          .feed_forward = deck.feed_forward,
          .vocabulary = deck.vocabulary,
          .rope_theta = deck.rope_theta,
          .rms_epsilon = deck.rms_epsilon,
          .init_std = deck.init_std};
}

LlamaOptions llama_options(const Deck& deck) {
  return {.B = deck.train.micro_batch,
          .T = deck.train.sequence_length,
          .compute = compute_of(deck.train.compute),
          .recompute = deck.model.recompute};
}

ExchangeOptions exchange_options(const Deck& deck) {
  return {.bucket_bytes = static_cast<std::int64_t>(deck.exchange.bucket_megabytes * 1e6),
          .overlap = deck.exchange.overlap,
          .seed = static_cast<std::uint64_t>(deck.train.seed)};
}

void check_products_available(const Deck& deck) {
  const bool tf32 = deck.train.compute == ComputeChoice::tf32 ||
                    deck.optimizer.newton_schulz_compute == ComputeChoice::tf32;
  if (tf32) const ScopedFp32Products available(Fp32Products::tf32);
}

}  // namespace minigift
