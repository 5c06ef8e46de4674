#pragma once
// Waits that stand for work done elsewhere.

#include <chrono>

namespace minigift {

/// The host thread sleeps until `deadline`, but for the last 100 microseconds, which it watches the clock: a
/// sleep alone ends up to that much late. A sleeping thread leaves its core to other ranks, as a device that
/// computes would.
void wait_until(std::chrono::steady_clock::time_point deadline);
void wait_for(double seconds);

}  // namespace minigift
