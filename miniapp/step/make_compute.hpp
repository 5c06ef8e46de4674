#pragma once
// The deck's [step] as the parts that carry it out.

#include "miniapp/deck/deck.hpp"
#include "miniapp/report/region_timer.hpp"
#include "miniapp/step/step_compute.hpp"
#include "miniapp/step/timed_compute.hpp"
#include "miniapp/transport/communicator.hpp"

#include <memory>

namespace minigift {

/// Model or waits, and where the gradients come from. Lengths of waits that the deck leaves open are
/// measured. Collective; throws UsageError, the same on all ranks. `deck` must outlive the result.
std::unique_ptr<StepCompute> make_step_compute(const Deck& deck, Communicator& communicator,
                                               RegionTimer& timer);

/// Lengths of the model's own phases of one iteration: rank 0 alone computes twice, while the others wait, so
/// that ranks which share cores do not slow each other down; the second counts. Collective.
ComputeSeconds measure_compute(const Deck& deck, Communicator& communicator, RegionTimer& timer);

}  // namespace minigift
