#pragma once
// Figures are drawn by the scripts in results/, with the system's own Python.

#include "miniapp/deck/output_deck.hpp"

#include <string>

namespace minigift {

/// Each draws the figures of a finished run into its folder and returns the line to print: where they are, or
/// why there are none and which command draws them.
std::string draw_training_figures(const OutputDeck& output);
std::string draw_scaling_figures(const OutputDeck& output);  // step and comm
/// `trace` may be empty: then the figures that need its gradients are left out. Serves fidelity and profile.
std::string draw_fidelity_figures(bool wanted, const std::string& trace, const std::string& folder);

}  // namespace minigift
