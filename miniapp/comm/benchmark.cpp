#include "miniapp/comm/benchmark.hpp"

#include "kernels/bit_cast.hpp"
#include "kernels/format/hash.hpp"
#include "miniapp/report/region_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace minigift {
namespace {

/// Whether all ranks hold the same result.
bool is_replicated(CollectiveChoice collective) {
  return outcome_of(collective) == Outcome::sum || collective == CollectiveChoice::all_gather ||
         collective == CollectiveChoice::mpi_all_gather;
}

/// Whether equal inputs give equal bits, so that a hash alone proves a result that was compared before. Sums
/// of the MPI library and of NCCL make no such promise.
bool is_reproducible(CollectiveChoice collective, Staging staging) {
  const bool by_owners = collective == CollectiveChoice::a2a || collective == CollectiveChoice::hierarchical;
  if (outcome_of(collective) == Outcome::move || by_owners) return true;
  const bool ours = collective == CollectiveChoice::native || collective == CollectiveChoice::reduce_scatter;
  return ours && staging != Staging::nccl;
}

/// For the progress bar: a size costs its bytes, and as much as a megabyte for being one.
double work_of(const CommCase& wanted) {
  return 4.0 * static_cast<double>(wanted.count) + 1e6;
}

std::vector<CommCase> of_count(const std::vector<CommCase>& cases, std::int64_t count) {
  std::vector<CommCase> some;
  std::copy_if(cases.begin(), cases.end(), std::back_inserter(some),
               [&](const CommCase& wanted) { return wanted.count == count; });
  return some;
}

}  // namespace

CommBenchmark::CommBenchmark(const Deck& deck, Communicator& communicator)
    : deck_(deck.comm),
      inject_(deck.inject),
      watchdog_seconds_(deck.exchange.watchdog_seconds),
      communicator_(communicator),
      cases_(comm_cases(deck.comm)),
      plain_mpi_(communicator) {
  check_cases(cases_, communicator);
  const auto& collectives = deck.comm.collectives;
  if (std::find(collectives.begin(), collectives.end(), CollectiveChoice::hierarchical) != collectives.end())
    groups_ = std::make_unique<NodeGroups>(communicator);
  if (!deck.comm.hot) sweep_.emplace(communicator.ranks_on_host());
}

std::vector<CommRow> CommBenchmark::run(const CommObserver& observer) {
  const std::vector<std::int64_t> counts = gradient_counts(deck_);
  double all_work = 0;
  for (const CommCase& wanted : cases_)
    all_work += work_of(wanted);
  std::vector<CommRow> rows;
  double fraction = 0;
  for (const std::int64_t count : counts) {
    const std::vector<CommCase> cases = of_count(cases_, count);
    double work = 0;
    for (const CommCase& wanted : cases)
      work += work_of(wanted) / all_work;
    const std::vector<CommRow> some = run_size(cases, observer, fraction, work);
    fraction += work;
    observer.finished(some);
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

std::vector<CommRow> CommBenchmark::run_size(const std::vector<CommCase>& cases, const CommObserver& observer,
                                             double fraction_before, double fraction_of_size) {
  GradientInputs inputs(deck_.seed, cases.front().count, communicator_.rank(), communicator_.size());
  std::vector<Contestant> contestants;
  for (const CommCase& wanted : cases) {
    Contestant contestant;
    contestant.row.wanted = wanted;
    contestant.row.ranks = communicator_.size();
    contestant.row.wire_counted = !is_plain_mpi(wanted.collective);
    contestant.row.skipped = reason_against(wanted, communicator_).value_or("");
    contestant.done = !contestant.row.skipped.empty();
    if (!contestant.done) {
      contestant.factory =
          make_collective_factory(wanted, {inputs, communicator_, plain_mpi_, groups_.get()});
      contestant.row.wire_bytes = contestant.factory->wire_bytes();
    }
    contestants.push_back(std::move(contestant));
  }

  const std::int64_t sets = make_sets(contestants);
  const std::int64_t iterations = deck_.warmup + deck_.iterations;
  bool negated = true;
  for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
    observer.progress(
        fraction_before + fraction_of_size * static_cast<double>(iteration) / static_cast<double>(iterations),
        fmt::format("{} elements, iteration {}/{}", cases.front().count, iteration + 1, iterations));
    const auto set = static_cast<std::size_t>(iteration % sets);
    if (set == 0) {
      negated = !negated;
      prepare(contestants, negated);
    }
    for (Contestant& contestant : contestants) {
      if (!contestant.done) iterate(contestant, *contestant.sets[set], iteration, negated);
    }
  }
  std::vector<CommRow> rows;
  for (Contestant& contestant : contestants)
    rows.push_back(std::move(contestant.row));
  return rows;
}

std::int64_t CommBenchmark::make_sets(std::vector<Contestant>& contestants) const {
  std::int64_t bytes_of_round = 0;
  for (Contestant& contestant : contestants) {
    if (contestant.done) continue;
    contestant.sets.push_back(contestant.factory->make());
    bytes_of_round += contestant.sets.back()->bytes();
  }
  if (!sweep_ || bytes_of_round == 0) return 1;
  const std::int64_t sets =
      std::clamp(sweep_->bytes() / bytes_of_round, std::int64_t{1}, deck_.warmup + deck_.iterations);
  for (Contestant& contestant : contestants) {
    while (!contestant.done && static_cast<std::int64_t>(contestant.sets.size()) < sets)
      contestant.sets.push_back(contestant.factory->make());
  }
  return sets;
}

void CommBenchmark::prepare(std::vector<Contestant>& contestants, bool negated) const {
  for (Contestant& contestant : contestants) {
    if (contestant.done) continue;
    for (const auto& set : contestant.sets)
      set->prepare(negated);
  }
  communicator_.synchronize();
  if (sweep_) sweep_->run();
}

void CommBenchmark::iterate(Contestant& contestant, Collective& collective, std::int64_t iteration,
                            bool negated) {
  const std::int64_t index = iteration - deck_.warmup;  // of the measured iterations; below 0: warm-up
  if (!hang_here(index)) communicator_.barrier();
  const double seconds = communicator_.max_over_ranks(time(contestant, collective));
  CommRow& row = contestant.row;
  if (iteration == 0) row.seconds_first = seconds;
  if (index < 0) return;
  row.seconds.push_back(seconds);
  contestant.measured_seconds += seconds;
  const bool out_of_time =
      deck_.time_limit_seconds > 0 && contestant.measured_seconds >= deck_.time_limit_seconds;
  contestant.done = out_of_time || index == deck_.iterations - 1;
  if (faulty(index)) collective.damage(inject_.fault);
  check(contestant, collective, index, negated);
}

double CommBenchmark::time(Contestant& contestant, Collective& collective) {
  const TransportCounters before = communicator_.counters();
  const auto start = std::chrono::steady_clock::now();
  {
    const ScopedRegion region(std::string(name_of(contestant.row.wanted.collective)));
    collective.run();
    communicator_.synchronize();
  }
  const auto stop = std::chrono::steady_clock::now();
  CommRow& row = contestant.row;
  const std::int64_t sent = (communicator_.counters() - before).payload.bytes_sent;
  if (row.wire_counted && sent != row.wire_bytes && row.wire_failure.empty())
    row.wire_failure = fmt::format("{} B sent, {} B by the closed form", sent, row.wire_bytes);
  return std::chrono::duration<double>(stop - start).count();
}

void CommBenchmark::check(Contestant& contestant, Collective& collective, std::int64_t index, bool negated) {
  CommRow& row = contestant.row;
  const CollectiveChoice choice = row.wanted.collective;
  const bool reproducible = is_reproducible(choice, communicator_.staging());
  auto& expected = contestant.expected_hash[negated ? 1 : 0];

  // Step 1: every element, where it is time to, and where no hash could stand in for that.
  const bool others_have_it = is_replicated(choice) && communicator_.size() > 1;
  const bool hash_decides = others_have_it || (reproducible && expected);
  const bool due = index % std::max(deck_.check_every, std::int64_t{1}) == 0 || contestant.done ||
                   !hash_decides || (reproducible && !expected);
  if (deck_.check_every > 0 && due) compare(contestant, collective, index, negated);

  // Step 2: hashes, over the ranks and with the one of a result that was compared.
  const std::uint64_t hash = content_hash(collective.result());
  std::string failure;
  if (reproducible && expected && *expected != hash)
    failure = "not the bits that the same inputs gave before";
  if (reproducible && !expected) expected = hash;
  if (is_replicated(choice)) {
    const auto number = bit_cast<std::int64_t>(hash);
    if (communicator_.max_over_ranks(number) != communicator_.min_over_ranks(number))
      failure = "ranks hold different bits";
  }
  // Of the failures that single ranks saw, the lowest rank's is told by all.
  const std::int64_t none = communicator_.size();
  const std::int64_t first = communicator_.min_over_ranks(
      failure.empty() && row.wire_failure.empty() ? none : std::int64_t{communicator_.rank()});
  if (first == none) return;
  const auto from = static_cast<int>(first);
  const std::string checksum = communicator_.broadcast_string(failure, from);
  const std::string wire = communicator_.broadcast_string(row.wire_failure, from);
  if (!checksum.empty() && row.checksum_failure.empty())
    row.checksum_failure = fmt::format("iteration {}, rank {}: {}", index + 1, from, checksum);
  if (!wire.empty()) row.wire_failure = wire;
}

void CommBenchmark::compare(Contestant& contestant, Collective& collective, std::int64_t index,
                            bool negated) {
  CommRow& row = contestant.row;
  const Comparison comparison = collective.compare(negated);
  const double error = communicator_.max_over_ranks(comparison.error);
  row.bound = comparison.bound;
  row.error = std::max(row.error, error);
  ++row.comparisons;
  if (error > row.bound && row.error_failure.empty())
    row.error_failure =
        fmt::format("iteration {}: max_rel_err {:.2e} > bound {:.2e}", index + 1, error, row.bound);
}

bool CommBenchmark::faulty(std::int64_t index) const {
  // The third iteration, if there are four: in the first of each sign and in the last every element is
  // compared, but every iteration must find it. With a time limit there may be no more than one.
  const std::int64_t third = std::clamp(deck_.iterations - 2, std::int64_t{0}, std::int64_t{2});
  const std::int64_t wanted = deck_.time_limit_seconds > 0 ? 0 : third;
  return inject_.fault != FaultPlace::none && index == wanted && communicator_.rank() == inject_.fault_rank;
}

bool CommBenchmark::hang_here(std::int64_t index) {
  if (inject_.hang == HangChoice::none || has_hung_ || index != 0) return false;
  has_hung_ = true;
  if (communicator_.rank() != inject_.hang_rank) return false;
  if (inject_.hang == HangChoice::skip) return true;
  // Much later than the watchdog of the others, who end this rank.
  std::this_thread::sleep_for(std::chrono::duration<double>(60 + 10 * watchdog_seconds_));
  return false;
}

}  // namespace minigift
