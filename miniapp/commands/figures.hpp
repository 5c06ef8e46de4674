#pragma once
// Figures are drawn by results/plot_training.py, with the system's own Python.

#include "miniapp/deck/output_deck.hpp"

#include <string>

namespace minigift {

/// Draws the figures of a finished run into its folder. Returns the line to print: where they are, or why
/// there are none and which command draws them.
std::string draw_figures(const OutputDeck& output);

}  // namespace minigift
