#include "miniapp/train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace minigift {

double learning_rate(const TrainDeck& deck, std::int64_t step) {
  if (step <= deck.warmup_steps) {
    return deck.learning_rate * static_cast<double>(step) / static_cast<double>(deck.warmup_steps);
  }
  if (deck.schedule == ScheduleChoice::constant) return deck.learning_rate;
  const double span = static_cast<double>(std::max<std::int64_t>(deck.steps - deck.warmup_steps, 1));
  const double progress = std::min(static_cast<double>(step - deck.warmup_steps) / span, 1.0);
  return deck.minimum_learning_rate + 0.5 * (deck.learning_rate - deck.minimum_learning_rate) *
                                          (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace minigift
