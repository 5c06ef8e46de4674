#pragma once
// The learning rate as a function of the step.

#include "miniapp/deck/train_deck.hpp"

#include <cstdint>

namespace minigift {

/// Learning rate of step 1 ... steps. It rises linearly to learning_rate over warmup_steps (step w has w /
/// warmup_steps of it), then stays, or falls along half a cosine to minimum_learning_rate at the last step.
double learning_rate(const TrainDeck& deck, std::int64_t step);

}  // namespace minigift
