#pragma once
// [inject]: faults on purpose, to see that checks and gates find them. Part of every record; a run says so.

#include "miniapp/deck/key.hpp"

namespace minigift {

/// Element of the exchanged array that is changed.
enum class FaultPlace { none, first, middle, last };
constexpr std::array<std::string_view, 4> names_of(FaultPlace) {
  return {"none", "first", "middle", "last"};
}

enum class HangChoice { none, sleep, skip };
constexpr std::array<std::string_view, 3> names_of(HangChoice) {
  return {"none", "sleep", "skip"};
}

struct InjectDeck {
  std::string slow_phase;
  double slow_percent = 10;
  FaultPlace fault = FaultPlace::none;
  std::int64_t fault_rank = 0;
  HangChoice hang = HangChoice::none;
  std::int64_t hang_rank = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.slow_phase,
          Key{.name = "slow_phase", .help = "phase that is made slower on all ranks; empty slows nothing"});
    visit(self.slow_percent, Key{.name = "slow_percent",
                                 .unit = "%",
                                 .help = "by how much, of its own time",
                                 .minimum = 0,
                                 .maximum = 1000});
    visit(self.fault,
          Key{.name = "fault", .help = "element of one result that is changed before it is checked"});
    visit(self.fault_rank, Key{.name = "fault_rank", .help = "rank on which it is changed", .minimum = 0});
    visit(self.hang,
          Key{.name = "hang",
              .help = "sleep: one rank does not come to the first measured iteration before the watchdog; "
                      "skip: it leaves out one collective there"});
    visit(self.hang_rank, Key{.name = "hang_rank", .help = "rank that hangs", .minimum = 0});
  }
};

}  // namespace minigift
