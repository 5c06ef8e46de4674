#pragma once
// [output]: where results go.

#include "miniapp/deck/key.hpp"

namespace minigift {

struct OutputDeck {
  std::string directory;
  bool figures = true;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.directory,
          Key{.name = "directory",
              .help = "new folder for run.json, steps.csv and figures; empty writes no files"});
    visit(self.figures,
          Key{.name = "figures", .help = "draw the curves with results/plot_training.py at the end"});
  }
};

}  // namespace minigift
