#pragma once
// Measures and checks the cases of a deck.
//
// Sizes go up one after the other. Within a size all cases take turns, iteration by iteration, so that a
// disturbance of the machine meets all alike. An iteration is a barrier, the timed region, and the checks,
// which are no part of it. Its time is the maximum over the ranks.

#include "miniapp/comm/cache_sweep.hpp"
#include "miniapp/comm/collective.hpp"
#include "miniapp/comm/row.hpp"
#include "miniapp/deck/deck.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace minigift {

/// What the benchmark tells while it runs, on every rank.
struct CommObserver {
  /// Share of the work that is done, and what is being measured.
  std::function<void(double fraction, const std::string& text)> progress = [](double, const std::string&) {};
  /// All rows of one size.
  std::function<void(const std::vector<CommRow>& rows)> finished = [](const std::vector<CommRow>&) {};
};

class CommBenchmark {
 public:
  /// Of the deck it reads [comm], [inject] and exchange.watchdog_seconds. Throws UsageError for cases that
  /// cannot be meant. Collective.
  CommBenchmark(const Deck& deck, Communicator& communicator);

  /// Every row of the deck, in the order of comm_cases(); those that cannot be are marked. Collective.
  std::vector<CommRow> run(const CommObserver& observer = {});

 private:
  /// A case while it is measured.
  struct Contestant {
    CommRow row;
    std::unique_ptr<CollectiveFactory> factory;
    std::vector<std::unique_ptr<Collective>> sets;  ///< of buffers, used in turn
    /// Hash of a result that was compared, by the sign of the inputs.
    std::array<std::optional<std::uint64_t>, 2> expected_hash;
    double measured_seconds = 0;
    bool done = false;
  };

  std::vector<CommRow> run_size(const std::vector<CommCase>& cases, const CommObserver& observer,
                                double fraction_before, double fraction_of_size);
  /// Sets of buffers for all contestants: as many as fit into what a sweep covers.
  std::int64_t make_sets(std::vector<Contestant>& contestants) const;
  void prepare(std::vector<Contestant>& contestants, bool negated) const;
  void iterate(Contestant& contestant, Collective& collective, std::int64_t iteration, bool negated);
  /// The timed region; returns this rank's seconds, and counts what it sent.
  double time(Contestant& contestant, Collective& collective);
  void check(Contestant& contestant, Collective& collective, std::int64_t index, bool negated);
  void compare(Contestant& contestant, Collective& collective, std::int64_t index, bool negated);
  /// Whether this is the iteration of a fault on purpose, and this its rank.
  bool faulty(std::int64_t index) const;
  /// One rank is late, or leaves out the barrier that follows. Returns whether it does.
  bool hang_here(std::int64_t index);

  const CommDeck& deck_;
  const InjectDeck& inject_;
  double watchdog_seconds_;
  Communicator& communicator_;
  std::vector<CommCase> cases_;
  PlainMpi plain_mpi_;
  std::unique_ptr<NodeGroups> groups_;  // where a case needs them
  std::optional<CacheSweep> sweep_;
  bool has_hung_ = false;
};

}  // namespace minigift
